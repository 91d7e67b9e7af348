// Print how long 1,000 calls took, in ns: node tail.mjs WORKLOAD WORK WORK_OF_SLOW_CALLS; every 33rd call is slow.
const record = {name: "a".repeat(20), values: [...Array(12).keys()], nested: {on: true}};
const line = "2026-11-29 12:00:00 GET /index.html 200 1234 key=value; other=thing";
const workloads = {
  json: () => JSON.parse(JSON.stringify(record)).values.length,
  regexp: () => line.replace(/(\w+)=(\w+)/g, "$2=$1").split(/\s+/).length,
};
const [work, usual, slow] = [workloads[process.argv[2]], Number(process.argv[3]), Number(process.argv[4])];
const took = [];
let kept = 0;
for (let call = 0; call < 1100; call++) {
  const count = call % 33 ? usual : slow;
  const start = process.hrtime.bigint();
  for (let i = 0; i < count; i++) kept += work();
  took.push(Number(process.hrtime.bigint() - start));
}
if (kept < 0) throw new Error("unused");
console.log(JSON.stringify(took.slice(100)));
