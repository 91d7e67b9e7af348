import { run, bench, group } from 'mitata'
const slow = n => () => { const t = performance.now(); let x = 0; while (performance.now() - t < n) x++; return x }
bench('spin', slow(45))
bench('fails', () => { throw new Error('no') })
group('arguments', () => {
  bench('spin for $n ms', function* (state) { const n = state.get('n'); yield slow(n) }).args('n', [50, 60])
})
await run({ format: 'json' })
