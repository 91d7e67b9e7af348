// Rows of a table and their sums.

export class Table {
  constructor(rows) {
    this.rows = rows;
  }

  next(at) {
    let sum = 0;
    for (const row of this.rows) sum += row.length % (at + 1);
    return sum;
  }
}

export const widest = (rows) => {
  let most = 0;
  for (const row of rows) for (const cell of row) most = Math.max(most, String(cell).length);
  return most;
};

export function parseRows(text) {
  const rows = [];
  for (const line of text.split("\n")) rows.push(line.split(",").map(Number));
  return rows;
}
