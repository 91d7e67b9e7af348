var s=class{constructor(o){this.rows=o}next(o){let r=0;for(let n of this.rows)r+=n.length%(o+1);return r}},e=t=>{let o=0;for(let r of t)for(let n of r)o=Math.max(o,String(n).length);return o};function l(t){let o=[];for(let r of t.split(`
`))o.push(r.split(",").map(Number));return o}var f=Array.from({length:2e3},(t,o)=>`${o},${o*7},${o%13}`).join(`
`),c=0;for(let t=0;t<60;t++){let o=l(f);c+=e(o)+new s(o).next(t)}console.log(c);
//# sourceMappingURL=bundle.js.map
