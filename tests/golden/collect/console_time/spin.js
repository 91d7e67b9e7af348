const spin = (n) => { let sum = 0; for (let i = 0; i < n; i++) sum += Math.sqrt(i); return sum }
for (const n of [1e5, 3e8]) { console.time(`spin: ${n}`); spin(n); console.timeEnd(`spin: ${n}`) }
console.time(); setTimeout(() => console.timeEnd(), 61000)
