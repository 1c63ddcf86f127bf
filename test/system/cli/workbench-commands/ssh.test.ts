/** `svc ssh …` and `svc files …` as command lines, against a real sshd on loopback. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { waitUntil } from '../../../support/wait-until.ts'
import type { Case } from './support/scene.ts'
import { assertKeepsFocus, succeeds } from './support/scene.ts'

/** Below the remote home, which other tests may use too. */
const madeHere = `1:made-by-the-test-of-svc-${process.pid}`

const cases: Readonly<Record<string, Case>> = {
  'ssh connect': async (t, scene) => {
    const { stdout, code } = await scene.run(['ssh', 'box', '--wait', '15'])
    t.equal(code, 0)
    t.match(stdout, /^ssh_\w+ {2}connected {2}box/)
    t.match(stdout, /svc files open ssh_/, 'the explorer is offered')
    t.match(await scene.run(['ssh', 'wrong-key', '--wait', '15']), { code: 1, stderr: /Permission denied/ })
    const { stderr } = await scene.run(['ssh', 'wrong-key', '-i', 'a key', '--wait', '15'])
    t.match(stderr, `Identity file ${scene.dir}/a key not accessible`, 'a key is named from here')
    await scene.run(['workspace', 'close', '5'])
  },
  'ssh list': async (t, scene) =>
    t.match(await scene.result(t, ['ssh', 'list']), {
      connections: [{ destination: 'box', state: 'connected' }, { state: 'failed' }],
    }),
  'ssh status': succeeds('ssh', 'status', '1'),
  'ssh disconnect': succeeds('ssh', 'disconnect', '2'),
  'files ls': async (t, scene) => t.match((await scene.run(['files', 'ls', `1:${scene.dir}`])).stdout, /a file/),
  'files stat': async (t, scene) =>
    t.match(await scene.result(t, ['files', 'stat', `1:${scene.dir}/a file`]), { file: { size: 300_000 } }),
  'files get': async (t, scene) => {
    await scene.result(t, ['files', 'get', `1:${scene.dir}/a file`, join(scene.dir, 'got')])
    t.equal(hashOf(join(scene.dir, 'got')), hashOf(join(scene.dir, 'a file')))
    t.match(await scene.run(['files', 'get', `1:${scene.dir}/absent`]), { code: 5 })
    t.match(await scene.run(['files', 'get', 'nothing']), { code: 2 })
    const { code, stdout } = await scene.run(['files', 'get', `1:${scene.dir}/text`, 'no/such/folder', '--json'])
    t.equal(code, 1)
    t.match(JSON.parse(stdout), { ok: false, error: { code: 'file_unwritable' } }, 'no defect of svc')
  },
  'files put': async (t, scene) => {
    await scene.result(t, ['files', 'put', join(scene.dir, 'a file'), `1:${scene.dir}/folder/`])
    t.equal(hashOf(join(scene.dir, 'folder', 'a file')), hashOf(join(scene.dir, 'a file')))
    symlinkSync('folder', join(scene.dir, 'to the folder'))
    await scene.result(t, ['files', 'put', join(scene.dir, 'text'), `1:${scene.dir}/to the folder`])
    t.equal(hashOf(join(scene.dir, 'folder', 'text')), hashOf(join(scene.dir, 'text')), 'a link to a folder is a way into it')
    symlinkSync('text', join(scene.dir, 'folder', 'to the text'))
    await scene.result(t, ['files', 'put', join(scene.dir, 'a file'), `1:${scene.dir}/folder/to the text`])
    t.ok(lstatSync(join(scene.dir, 'folder', 'to the text')).isSymbolicLink(), 'a link stays')
    t.equal(hashOf(join(scene.dir, 'folder', 'text')), hashOf(join(scene.dir, 'a file')), 'what it leads to is written')
    const halves = () => readdirSync(join(scene.dir, 'folder')).filter((name) => name.includes('.part-'))
    const endless = join(scene.dir, 'endless')
    writeFileSync(endless, '')
    truncateSync(endless, 2 ** 31)
    const { child, result } = await scene.start(['files', 'put', endless, `1:${scene.dir}/folder/`])
    await waitUntil(() => halves().length === 1, 'the transfer has begun')
    child.kill('SIGINT')
    t.match(await result, { code: 130, stderr: /Interrupted/ })
    t.strictSame(halves(), [], 'Ctrl-C leaves no half file there')
    rmSync(endless)
    const pipe = join(scene.dir, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const words of [
      ['put', join(scene.dir, 'text'), `1:${pipe}`],
      ['get', `1:${scene.dir}/text`, pipe],
    ])
      t.match(await scene.run(['files', ...words]), { code: 1, stderr: /is no file/ }, `${words[0]} replaces no pipe`)
    t.ok(lstatSync(pipe).isFIFO())
  },
  'files cat': async (t, scene) => {
    t.match(
      await scene.run(['files', 'cat', `1:${scene.dir}/text`]),
      { code: 0, stdout: 'hello\u001b[1m\n' },
      'a pipe gets it as it is',
    )
    const { child, result } = await scene.start(['files', 'cat', `1:${scene.dir}/a file`])
    const hash = createHash('sha256')
    child.stdout?.on('data', (data: Buffer) => hash.update(data))
    t.equal((await result).code, 0)
    t.equal(hash.digest('hex'), hashOf(join(scene.dir, 'a file')), 'also what is no text')
  },
  'files mkdir': succeeds('files', 'mkdir', madeHere),
  'files rm': succeeds('files', 'rm', madeHere),
  'files mv': (t, scene) => scene.result(t, ['files', 'mv', `1:${scene.dir}/text`, `${scene.dir}/text2`]),
  'files open': succeeds('files', 'open', '1'),
  'files explore': async (t, scene) =>
    t.match(await scene.run(['files', 'explore', '1:']), { code: 2, stderr: /needs a terminal/ }),
  'ssh reconnect': succeeds('ssh', 'reconnect', '1'),
}

t.test('the ssh and files commands work', async (t) => {
  await assertKeepsFocus(t, ['ssh', 'files'], cases)
})

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
