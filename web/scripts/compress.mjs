/** Writes a `.br` and a `.gz` file next to each asset of `dist`, so that the manager never compresses. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const SMALLEST_BYTES = 1024;
const COMPRESSED = /\.(js|css|svg|json)$/;
const folder = new URL("../dist", import.meta.url).pathname;

let total = 0;
for (const name of readdirSync(folder, { recursive: true })) {
  if (!COMPRESSED.test(name)) continue;
  const content = readFileSync(join(folder, name));
  if (content.length < SMALLEST_BYTES) continue;
  const gzip = gzipSync(content, { level: 9 });
  writeFileSync(join(folder, `${name}.gz`), gzip);
  writeFileSync(
    join(folder, `${name}.br`),
    brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  );
  total += gzip.length;
}
console.log(`compressed assets: ${(total / 1000).toFixed(0)} kB with gzip`);
