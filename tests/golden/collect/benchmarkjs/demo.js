const Benchmark = require('benchmark');

new Benchmark.Suite()
  .add('RegExp#test', () => /o/.test('Hello World!'))
  .add('String#indexOf', () => 'Hello World!'.indexOf('o') > -1)
  .add('sort 20000', () => Array.from({ length: 20000 }, (_, i) => -i).sort())
  .add('broken', () => { throw new Error('no such device'); })
  .on('cycle', (event) => console.log(String(event.target)))
  .run();
