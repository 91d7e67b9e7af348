import { run, bench, group } from 'mitata';
const text = 'a,b,c,d,e,f'.repeat(200);
group('text', () => { bench('split', () => text.split(',')); bench('replace', () => text.replaceAll(',', ';')); });
bench('split', () => text.slice(0, 100).split(','));
bench('sort $size', function* (state) { const size = state.get('size'); yield () => Array.from({ length: size }, (_, i) => (i * 7919) % size).sort((a, b) => a - b); }).args('size', [10, 1000]);
bench('fails', () => { throw new Error('no such file'); });
group('compact', () => { bench('split', () => text.split(',')).compact(); });
await run();
