// node dump.mjs FILE|URL: the RNTuples of a file as JSROOT reads them, as JSON with the literals of Python: NaN, Infinity.
// By table: "rows", and of each field its values by row; or "error".
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

async function dump(tuple) {
  const builder = await readHeaderFooter(tuple);
  if (!builder) throw new Error("header and footer cannot be read");
  const rows = builder.clusterSummaries.reduce((sum, cluster) => sum + cluster.numEntries, 0);
  const names = builder.fieldDescriptors.filter((field, id) => field.parentFieldId === id).map((field) => field.fieldName);
  const values = names.map(() => []);
  const selector = new TSelector();
  names.forEach((name, index) => selector.addBranch(name, `f${index}`));
  selector.Process = () => names.forEach((_, index) => values[index].push(json(selector.tgtobj[`f${index}`])));
  // Cluster by cluster, because JSROOT (up to 7.11.2) goes on counting from the one before where a list is in another.
  let firstentry = 0;
  for (const { numEntries: numentries } of builder.clusterSummaries) {
    if (numentries) await rntupleProcess(tuple, selector, { firstentry, numentries });
    firstentry += numentries;
  }
  const fields = names.map((name, index) => `${JSON.stringify(name)}:[${values[index].join(",")}]`);
  return `{"rows":${rows},"fields":{${fields.join(",")}}}`;
}

async function dump_all(folder, path, tables) {
  for (const { fName, fClassName } of folder.fKeys) {
    const name = path + fName;
    if (fClassName.startsWith("TDirectory")) await dump_all(await file.readDirectory(name), `${name}/`, tables);
    if (fClassName !== "ROOT::RNTuple") continue;
    const failed = (error) => `{"error":${JSON.stringify(String(error))}}`;
    tables.push(`${JSON.stringify(name)}:${await file.readObject(name).then(dump).catch(failed)}`);
  }
  return tables;
}

const file = await openFile(process.argv[2]);
process.stdout.write(`{${(await dump_all(file, "", [])).join(",")}}\n`);
