const path = require('path')
const { ResolverFactory } = require(process.argv[2])

const fileSystem = require('fs')
const alias = {}
for (let n = 0; n < 400; n++) alias[`${String.fromCharCode(97 + n % 26)}package${n}`] = path.join(__dirname, `none${n}`)
alias['target'] = __dirname
const { CachedInputFileSystem } = require(process.argv[2])
const resolver = ResolverFactory.createResolver({
  fileSystem: new CachedInputFileSystem(fileSystem, 100000), extensions: ['.js'], alias, useSyncFileSystemCalls: true
})
for (let n = 0; n < 4000; n++) resolver.resolveSync({}, __dirname, n % 2 ? './resolve_alias' : 'target/resolve_alias')
