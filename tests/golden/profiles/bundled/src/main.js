import { Table, parseRows, widest } from "./table.js";

const text = Array.from({ length: 2000 }, (_, i) => `${i},${i * 7},${i % 13}`).join("\n");
let sum = 0;
for (let round = 0; round < 60; round++) {
  const rows = parseRows(text);
  sum += widest(rows) + new Table(rows).next(round);
}
console.log(sum);
