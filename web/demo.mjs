// Builds the live demo: `node demo.mjs MODULE CAUSES FOLDER`. MODULE is the model as WebAssembly, CAUSES a file of JSON with
// the names and looks of causes; FOLDER gets `demo.js`, `demo.css` and `demo-model.js`.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const [module, causes, folder] = process.argv.slice(2);
await build({
  entryPoints: { demo: "src/demo/index.ts" },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "inline",
  logLevel: "warning",
  define: { REXMIT_CAUSES: readFileSync(causes, "utf8") },
});
const packed = gzipSync(readFileSync(module), { level: 9 }).toString("base64");
writeFileSync(`${folder}/demo-model.js`, `window.rexmitModel="${packed}";\n`);
