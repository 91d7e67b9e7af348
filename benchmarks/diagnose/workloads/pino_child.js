const pino = require(process.argv[2])

const log = pino({ level: 'silent' })
let children = 0
for (let n = 0; n < 2_000_000; n++) {
  children += log.child({ id: n, name: 'child', a: 1 }).level === 'silent' ? 1 : 0
}
console.log(children)
