#!/bin/sh
# Compiles a crate for libFuzzer where scripts/fuzz.py asks for it: cargo's RUSTC_WORKSPACE_WRAPPER, called as
# `instrument.sh rustc ARGUMENTS`. REXMIT_INSTRUMENT has the names of the crates, REXMIT_INSTRUMENT_FLAGS what
# rustc is told of them; all others, build scripts among them, are compiled as they are. Cargo knows of neither:
# after a change of them, `touch` the crates.
for argument in "$@"; do
    if [ "$last" = --crate-name ]; then
        case " $REXMIT_INSTRUMENT " in
        *" $argument "*) exec "$@" $REXMIT_INSTRUMENT_FLAGS ;;
        esac
    fi
    last=$argument
done
exec "$@"
