/** Generates `src/api/schema.d.ts` from the OpenAPI document of this checkout, and `src/model/manifestFields.json` from the
 * schemas of manifests. `--check` compares instead of writing. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const root = new URL("../..", import.meta.url).pathname;
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

/** Of a schema, what the editor completes and checks: fields by name, allowed words, and what each field is about. */
function fieldsOf(schema) {
  const found = {};
  if (schema.description) found.about = schema.description;
  if (schema.enum) found.words = schema.enum.map(String);
  const item = schema.items ?? schema;
  if (item.properties) {
    found.fields = Object.fromEntries(Object.entries(item.properties).map(([name, each]) => [name, fieldsOf(each)]));
    found.closed = item.additionalProperties === false;
  }
  return found;
}

const kinds = {};
for (const name of ["job", "testbed", "batchjob", "scheduling"]) {
  const schema = JSON.parse(readFileSync(`${root}docs/reference/schema/${name}.schema.json`, "utf8"));
  kinds[schema.properties.kind.enum[0]] = fieldsOf(schema);
}

const written = {
  "../src/api/schema.d.ts": header + types,
  "../src/model/manifestFields.json": `${JSON.stringify(kinds)}\n`,
};
for (const [path, text] of Object.entries(written)) {
  const target = new URL(path, import.meta.url);
  if (!process.argv.includes("--check")) {
    writeFileSync(target, text);
  } else if (readFileSync(target, "utf8") !== text) {
    console.error(`${path.slice(3)} does not match the API or its schemas: run \`npm run types\` in web/`);
    process.exitCode = 1;
  }
}
