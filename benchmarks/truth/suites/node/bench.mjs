// Fifteen benchmarks of packages of npm: `node bench.mjs` writes tinybench's tasks as JSON.
import { parse as acorn } from "acorn";
import Ajv from "ajv";
import dayjs from "dayjs";
import equal from "fast-deep-equal";
import { fromJS } from "immutable";
import lodash from "lodash";
import { marked } from "marked";
import mustache from "mustache";
import papaparse from "papaparse";
import semver from "semver";
import { Bench } from "tinybench";
import yaml from "yaml";

const rows = Array.from({ length: 200 }, (_, id) => ({ id, name: `name ${id}`, value: Math.sin(id), tags: ["a", "b"] }));
const text = JSON.stringify(rows);
const copy = JSON.parse(text);
const validate = new Ajv().compile({
  type: "array",
  items: { type: "object", required: ["id"], properties: { id: { type: "integer" }, name: { type: "string" } } },
});
const prose = Array.from({ length: 20 }, (_, part) => `# Part ${part}\n\nSome *words* and \`code\`.\n`).join("\n");
const source = "function add(first, second) { return first + second; }\n".repeat(20);
const table = rows.map(({ id, name, value }) => `${id},${name},${value}`).join("\n");
const list = yaml.stringify(rows.slice(0, 10));
const versions = rows.map(({ id }) => `1.${id % 17}.${id % 5}`);
const nested = fromJS(rows);
const template = "{{#rows}}{{id}}: {{name}}\n{{/rows}}";

const bench = new Bench({ time: 30, iterations: 5, warmupTime: 10, warmupIterations: 2, retainSamples: true });
bench
  .add("JSON.parse", () => JSON.parse(text))
  .add("JSON.stringify", () => JSON.stringify(rows))
  .add("acorn", () => acorn(source, { ecmaVersion: 2022 }))
  .add("ajv", () => validate(rows))
  .add("dayjs", () => rows.map(({ id }) => dayjs(id * 1e9).format("YYYY-MM-DD")))
  .add("fast-deep-equal", () => equal(rows, copy))
  .add("immutable set", () => nested.setIn([7, "name"], "other").toJS())
  .add("lodash groupBy", () => lodash.groupBy(rows, ({ id }) => id % 7))
  .add("lodash cloneDeep", () => lodash.cloneDeep(rows))
  .add("lodash sortBy", () => lodash.sortBy(rows, "value"))
  .add("marked", () => marked.parse(prose))
  .add("mustache", () => mustache.render(template, { rows }))
  .add("papaparse", () => papaparse.parse(table))
  .add("semver sort", () => semver.sort([...versions]))
  .add("yaml parse", () => yaml.parse(list));
await bench.run();
console.log(JSON.stringify(bench.tasks.map(({ name, result }) => ({ name, result }))));
