// node read.mjs h5wasm|jsfive: reads names of HDF5 files from standard input, and answers each with a line of JSON: for
// each dataset the digest of its values, as bytes in the order of a PC, or why it cannot be read. What a URL names is
// fetched whole first, as viewers in browsers do.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const modules = "../../../../build/h5wasm/node_modules/";
const load = (module) => import(new URL(modules + module, import.meta.url));

const digest = (bytes) => createHash("sha1").update(bytes).digest("hex");

// Values of a compound or of an enumeration come as nested arrays. `size` is that of one number.
function packed(values, size) {
  const flat = values.flat(Infinity);
  const view = new DataView(new ArrayBuffer(flat.length * size));
  flat.forEach((value, index) => {
    if (typeof value === "boolean" || size === 1) view.setUint8(index, Number(value));
    else if (size === 4) view.setFloat32(index * 4, value, true);
    else view.setFloat64(index * 8, value, true);
  });
  return new Uint8Array(view.buffer);
}

async function readWithH5wasm() {
  const h5wasm = await load("h5wasm/dist/node/hdf5_hl.js");
  const module = await h5wasm.ready;
  module.insert_plugin_search_path(new URL(`${modules}h5wasm-plugins/plugins`, import.meta.url).pathname, 0);
  return (path) => {
    const file = new h5wasm.File(path, "r");
    const found = {};
    const visit = (group) => {
      for (const name of group.keys()) {
        const child = group.get(name);
        if (child instanceof h5wasm.Group) visit(child);
        else if (child instanceof h5wasm.Dataset) found[child.path] = guarded(() => ofDataset(child));
      }
    };
    visit(file);
    file.close();
    return found;
  };
}

function ofDataset(dataset) {
  if (dataset.shape.some((length) => length === 0)) return digest("");
  const value = dataset.value;
  if (ArrayBuffer.isView(value)) return digest(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  const members = dataset.metadata.compound_type?.members;
  return digest(packed(value, members ? dataset.metadata.size / members.length : dataset.metadata.size));
}

async function readWithJsfive() {
  const jsfive = await load("jsfive/dist/esm/index.mjs");
  return (path) => {
    const bytes = readFileSync(path);
    const file = new jsfive.File(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength), path);
    const found = {};
    const visit = (group, prefix) => {
      for (const name of group.keys) {
        found[`${prefix}/${name}`] = guarded(() => {
          const child = group.get(name);
          if (child instanceof jsfive.Group) return visit(child, `${prefix}/${name}`), "";
          return digest(packed(child.value, Number(/\d+$/.exec(child.dtype)[0])));
        });
      }
    };
    visit(file, "");
    return found;
  };
}

function guarded(work) {
  try {
    return work();
  } catch (error) {
    return `error: ${error}`;
  }
}

async function readFetched(url, read) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  const folder = mkdtempSync(join(tmpdir(), "fetched-"));
  try {
    const path = join(folder, "file");
    writeFileSync(path, new Uint8Array(await answer.arrayBuffer()));
    return read(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const read = await { h5wasm: readWithH5wasm, jsfive: readWithJsfive }[process.argv[2]]();
for await (const path of createInterface({ input: process.stdin })) {
  let found;
  try {
    found = path.includes("://") ? await readFetched(path, read) : read(path);
  } catch (error) {
    found = { "": `error: ${error}` };
  }
  writeSync(1, `${JSON.stringify(found)}\n`);
}
