/** A folder that a person has named is created, or refused at once. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createFolder } from '../../../../src/system/data-folder/create-folder.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-create-folder-'))
t.teardown(() => rmSync(folder, { recursive: true }))

t.test('a folder is created with those above it, and an existing one keeps its permissions', async (t) => {
  const path = join(folder, 'one', 'two')
  createFolder(path, 0o700)
  t.equal(statSync(path).mode & 0o777, 0o700)
  t.equal(statSync(join(folder, 'one')).mode & 0o777, 0o700)
  createFolder(join(folder, 'one'), 0o755)
  t.equal(statSync(join(folder, 'one')).mode & 0o777, 0o700)
})

t.test('a path through a file, a file itself and a broken link are refused', async (t) => {
  writeFileSync(join(folder, 'file'), '')
  symlinkSync(join(folder, 'nowhere'), join(folder, 'link'))
  t.throws(() => createFolder(join(folder, 'file', 'below')), { code: 'ENOTDIR' })
  t.throws(() => createFolder(join(folder, 'file')), { code: 'EEXIST' })
  t.throws(() => createFolder(join(folder, 'link', 'below')), { code: 'EEXIST' })
})

// In a process of its own, because what must not happen is that it never returns.
t.test('a folder below /proc is refused', { skip: process.platform !== 'linux' }, async (t) => {
  const program = `import { createFolder } from ${JSON.stringify(import.meta.resolve('../../../../src/system/data-folder/create-folder.ts'))}
try { createFolder(process.argv[1]) } catch (error) { process.stdout.write(error.code) }`
  for (const path of ['/proc/svc-none', '/proc/svc-none/below']) {
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program, path], {
      encoding: 'utf8',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    })
    t.equal(stdout, 'ENOENT', path)
  }
})
