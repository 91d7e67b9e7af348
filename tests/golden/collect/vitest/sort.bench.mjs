import { bench, describe } from 'vitest'
const text = 'a,b,c'.repeat(300)
const time = { time: 200 }
bench('join', () => { text.split(',').join(';') }, time)
describe('text', () => {
  bench('split', () => { text.split(',') }, time)
  bench('replace all', () => { text.replaceAll(',', ';') }, time)
  bench('broken', () => { throw new Error('no such file') }, time)
  bench.skip('later', () => {})
  describe('long', () => { bench('split', () => { text.repeat(5000).split(',') }, time) })
})
