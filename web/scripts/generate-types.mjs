/** Generates `src/api/schema.d.ts` from the OpenAPI document of this checkout. `--check` compares instead of writing. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const root = new URL("../..", import.meta.url).pathname;
const target = new URL("../src/api/schema.d.ts", import.meta.url);
const python = process.env.PYTHON ?? `${root}.venv/bin/python`;
const program = `
from shunter.api.http.exchange import encode
from shunter.api.http.openapi import openapi_document
from shunter.api.routes.table import ROUTES
print(encode(openapi_document(ROUTES)).decode())
`;

const document = execFileSync(python, ["-c", program], { encoding: "utf8", maxBuffer: 2 ** 26 });
const types = astToString(await openapiTS(JSON.parse(document)));
const header = "/** Generated from the OpenAPI document by `npm run types`. Do not edit. */\n\n";

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== header + types) {
    console.error("src/api/schema.d.ts does not match the OpenAPI document: run `npm run types` in web/");
    process.exit(1);
  }
} else {
  writeFileSync(target, header + types);
}
