// Builds the script and the style of the pages into the Python package, which ships them: its users need no Node.
import { mkdirSync } from "node:fs";
import { build } from "esbuild";

const folder = process.argv[2] ?? "../python/rexmit/plot/web";
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: { rexmit: "src/main.ts" },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "inline",
  logLevel: "warning",
});
