// node dump.mjs FILE [TABLE]: an RNTuple as JSROOT reads it, as JSON with the literals of Python: NaN, Infinity.
// One object: "rows", and of each field its values by row.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const installed = createRequire(process.env.THALWEG_JSROOT ?? new URL("../../build/jsroot/package.json", import.meta.url));
const load = (module) => import(pathToFileURL(installed.resolve(module)));

// JSROOT makes a Number of every 64-bit integer. Where that would cost digits, it stays a BigInt.
const PlainNumber = Number;
globalThis.Number = new Proxy(PlainNumber, {
  apply: (_, self, [value]) => {
    const number = PlainNumber(value);
    return typeof value === "bigint" && !PlainNumber.isSafeInteger(number) ? value : number;
  },
});

const { openFile } = await load("jsroot/io");
const { TSelector } = await load("jsroot/tree");
const { readHeaderFooter, rntupleProcess } = await load("jsroot/rntuple");

// JSROOT knows std::vector and classes, but not (up to 7.11.2) what has the same columns and no type name.
function name_untyped(builder) {
  for (const field of builder.fieldDescriptors) {
    const columns = builder.findColumns(field).length;
    const children = builder.findChildFields(field).length;
    if (field.typeName || !children) continue;
    field.typeName = columns ? "std::vector<>" : "record";
    field.checksum = columns ? undefined : 1;
  }
}

// JSROOT makes a code unit of every (signed) byte.
const text = (bytes) => Buffer.from(Array.from(bytes, (byte) => byte.charCodeAt(0) & 0xff)).toString();

function json(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return Object.is(value, -0) ? "-0.0" : String(value);
  if (typeof value === "string") return JSON.stringify(text(value));
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  const members = Object.entries(value).filter(([name]) => name !== "_typename");
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${json(member)}`).join(",")}}`;
}

async function dump(path, table) {
  const file = await openFile(path);
  table ??= file.fKeys.find((key) => key.fClassName === "ROOT::RNTuple")?.fName;
  const tuple = await file.readObject(table);
  if (!tuple) throw new Error(`${path} has no RNTuple '${table}'`);
  const builder = await readHeaderFooter(tuple);
  if (!builder) throw new Error(`${path}: header and footer of '${table}' cannot be read`);
  name_untyped(builder);
  const rows = builder.clusterSummaries.reduce((sum, cluster) => sum + cluster.numEntries, 0);
  const names = builder.fieldDescriptors.filter((field, id) => field.parentFieldId === id).map((field) => field.fieldName);
  const values = names.map(() => []);
  const selector = new TSelector();
  names.forEach((name, index) => selector.addBranch(name, `f${index}`));
  selector.Process = () => names.forEach((_, index) => values[index].push(json(selector.tgtobj[`f${index}`])));
  if (rows) await rntupleProcess(tuple, selector);
  const fields = names.map((name, index) => `${JSON.stringify(name)}:[${values[index].join(",")}]`);
  return `{"rows":${rows},"fields":{${fields.join(",")}}}\n`;
}

process.stdout.write(await dump(...process.argv.slice(2)));
