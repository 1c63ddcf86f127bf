/** The service's units by systemd's own checks, and the scripts beside them below a folder of the test. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { requireProgram } from '../../support/require-program.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import type { TestScope } from '../../support/test-scope.ts'

const deploy = join(import.meta.dirname, '../../../deploy')
const units = [
  'svc-gateway.service',
  'svc-gateway-backup.service',
  'svc-gateway-backup.timer',
  'svc-gateway-upgrade-back.service',
] as const
/** systemd's figure of what a service could reach: 0 nothing, 10 everything. */
const maxExposure = 2.0

t.test('systemd accepts the units', (t) => {
  const program = requireProgram(t, 'systemd-analyze')
  if (program === undefined) return
  const folder = createTemporaryFolder(t)
  for (const unit of units) {
    // The program is not installed here.
    const text = readFileSync(join(deploy, 'systemd', unit), 'utf8').replaceAll(/^(ExecStart|ExecReload)=\S+/gm, '$1=/bin/true')
    writeFileSync(join(folder, unit), text)
  }
  const { stderr, status } = spawnSync(program, ['verify', ...units.map((unit) => join(folder, unit))], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
  t.notMatch(stderr, folder, 'without a warning')
  t.end()
})

for (const unit of units.slice(0, 2)) {
  t.test(`systemd counts at most ${maxExposure} of exposure for ${unit}`, (t) => {
    const program = requireProgram(t, 'systemd-analyze')
    if (program === undefined) return
    const words = ['security', '--offline=true', `--threshold=${maxExposure * 10}`, '--no-pager', join(deploy, 'systemd', unit)]
    const { stdout, stderr, status } = spawnSync(program, words, { encoding: 'utf8' })
    t.equal(
      status,
      0,
      `${stderr}${stdout
        .split('\n')
        .filter((line) => /✗|→/.test(line))
        .join('\n')}`,
    )
    t.end()
  })
}

t.test('the unit waits for running turns, and its watchdog for a paused machine', (t) => {
  const text = readFileSync(join(deploy, 'systemd/svc-gateway.service'), 'utf8')
  const read = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? ''
  t.equal(read('Type'), 'notify')
  t.equal(read('NotifyAccess'), 'all')
  t.ok(Number(read('WatchdogSec')) >= 60)
  t.ok(Number(read('TimeoutStopSec')) > 32, 'above timeouts.drainMs and drainNoticeMs')
  t.equal(read('MemoryDenyWriteExecute'), '', 'V8 needs it off')
  t.end()
})

/** A tarball with the name and version of a release, and an npm that makes the programs only. */
function createRelease(t: TestScope, nodeVersion = 'v24.21.0') {
  const folder = createTemporaryFolder(t)
  const [bin, root] = [join(folder, 'bin'), join(folder, 'root')]
  for (const path of [bin, root, join(folder, 'package')]) mkdirSync(path)
  writeFileSync(join(folder, 'package/package.json'), '{\n  "name": "svc-gateway",\n  "version": "1.2.3",\n  "bin": {}\n}\n')
  spawnSync('tar', ['-czf', 'release.tgz', 'package'], { cwd: folder })
  const { stdout: sums } = spawnSync('sha256sum', ['release.tgz'], { cwd: folder, encoding: 'utf8' })
  writeFileSync(join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  another.tgz\n${sums}`)
  const addProgram = (name: string, script: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  addProgram('node', `echo ${nodeVersion}`)
  addProgram('npm', 'while [ "$1" != --prefix ]; do shift; done; mkdir -p "$2/bin" && touch "$2/bin/svc-gateway"')
  const run = (words: readonly string[], input = '') =>
    spawnSync(join(deploy, 'install.sh'), words, {
      encoding: 'utf8',
      input,
      env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, PREFIX: root },
    })
  const list = (): readonly string[] =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
      // Some versions of Node follow the link.
      .filter((path) => !path.startsWith('/opt/svc-gateway/current/'))
      .toSorted()
  return { tarball: join(folder, 'release.tgz'), root, run, list }
}

const settings = '/etc/svc-gateway/gateway.env'

t.test('install.sh installs, keeps settings when it runs again, and removes what it installed', (t) => {
  const { tarball, root, run, list } = createRelease(t)
  const installed = run(['install', tarball, '--yes'])
  t.equal(installed.status, 0, installed.stderr)
  t.same(list(), [
    settings,
    ...units.map((unit) => `/etc/systemd/system/${unit}`).toSorted(),
    '/opt/svc-gateway/1.2.3/bin/svc-gateway',
    '/opt/svc-gateway/backup.sh',
    '/opt/svc-gateway/current',
    '/usr/local/sbin/svc-gateway',
  ])
  t.equal(statSync(join(root, settings)).mode & 0o777, 0o600, 'only root reads secrets')
  t.equal(readlinkSync(join(root, 'opt/svc-gateway/current')), '1.2.3')
  for (const path of list())
    if (path !== '/opt/svc-gateway/current')
      t.ok(installed.stdout.includes(path.split('/').at(-1) ?? '') || path.includes('/opt/'), `${path} was named before`)

  writeFileSync(join(root, settings), 'UPSTREAM_API_KEY=mine\n')
  t.equal(run(['install', tarball, '--yes']).status, 0)
  t.equal(readFileSync(join(root, settings), 'utf8'), 'UPSTREAM_API_KEY=mine\n')

  t.equal(run(['remove', '--yes']).status, 0)
  t.same(list(), [settings])
  t.equal(run(['remove', '--purge', '--yes']).status, 0)
  t.same(list(), [])
  t.end()
})

t.test('install.sh changes nothing without an answer, on another Node, or with another file', (t) => {
  const { tarball, run, list } = createRelease(t)
  t.match(run(['install', tarball], 'n\n'), { status: 1, stderr: /Nothing was changed/ })
  t.match(run(['install', tarball]), { status: 1, stderr: /Nothing was changed/ })
  t.match(run(['install', '/dev/null']), { status: 1, stderr: /Name the tarball/ })
  const changed = createRelease(t)
  writeFileSync(changed.tarball, 'changed', { flag: 'a' })
  t.match(changed.run(['install', changed.tarball, '--yes']), { status: 1, stderr: /Nothing was unpacked/ })
  rmSync(join(changed.tarball, '../SHA256SUMS'))
  t.match(changed.run(['install', changed.tarball, '--yes']), { status: 1, stderr: /no SHA256SUMS beside/ })
  t.same(changed.list(), [])
  t.match(run(['install', tarball, '--force']), { status: 2, stderr: /no option --force/ })
  t.match(run([]), { status: 2, stdout: /\.\/install\.sh install/ })
  t.same(list(), [])
  const faulty = createRelease(t, 'v26.10.0')
  t.match(faulty.run(['install', faulty.tarball, '--yes']), { status: 1, stderr: /Node 24 is needed/ })
  t.same(faulty.list(), [])
  t.end()
})

t.test('the backup script keeps the newest backups, and all of them where a backup fails', (t) => {
  const folder = createTemporaryFolder(t)
  const [backups, program] = [join(folder, 'backups'), join(folder, 'svc-gateway')]
  for (const name of ['2026-11-01T000000Z', '2026-11-02T000000Z', '2026-11-03T000000Z', '2026-11-04T000000Z.unfinished'])
    mkdirSync(join(backups, name), { recursive: true })
  const run = (script: string) => {
    writeFileSync(program, `#!/bin/sh\n${script}\n`)
    chmodSync(program, 0o755)
    const env = { PATH: process.env['PATH'] ?? '', SVC_GATEWAY: program, BACKUPS: backups, KEEP: '2' }
    return spawnSync(join(deploy, 'systemd/backup.sh'), { encoding: 'utf8', env })
  }
  t.not(run('exit 1').status, 0)
  const finished = (): readonly string[] =>
    readdirSync(backups)
      .filter((name) => !name.endsWith('.unfinished'))
      .toSorted()
  t.equal(finished().length, 3)
  t.equal(run('echo copy >"$2"').status, 0)
  const [older, newest = ''] = finished()
  t.equal(older, '2026-11-03T000000Z')
  t.ok(existsSync(join(backups, newest, 'gateway.db')))
  t.equal(readdirSync(backups).length, 2, 'unfinished ones are removed')
  t.end()
})
