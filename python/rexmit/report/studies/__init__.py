"""The figures of published studies: a module each, named as the study's folder, with a function `draw`."""
