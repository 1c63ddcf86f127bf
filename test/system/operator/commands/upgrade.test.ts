/** `svc-gateway upgrade`: from the first release with its data, and back; refusals; a version that does not start. */
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { installRelease } from '../../../../src/operator/commands/upgrade/install-release.ts'
import type { ReleaseSource } from '../../../../src/operator/commands/upgrade/install-release.ts'
import { InstalledVersions } from '../../../../src/operator/commands/upgrade/installed-versions.ts'
import { run } from '../../../../src/operator/main.ts'
import { buildVersion, hasCommit, packRelease } from '../../../support/processes/built-version.ts'
import { InstalledService } from '../../../support/processes/installed-service.ts'
import { buildUpgradeReleases, layout, readDatabase, startPresentVersion } from '../../../support/processes/upgrade-releases.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'

if (process.getuid?.() !== 0) {
  t.plan(0, 'an upgrade runs as root')
  process.exit(0)
}

/** The release before `svc-gateway upgrade`. */
const firstRelease = 'ba486ff'

const releases = buildUpgradeReleases()
const { folder, present, presentVersion, patched, broken } = releases

t.test('from the first release with its data, and back', async (t) => {
  if (!hasCommit(firstRelease)) return t.plan(0, `this checkout has no history back to ${firstRelease}`)
  const service = new InstalledService(t)
  service.install('0.1.0', packRelease(folder, buildVersion(folder, firstRelease)))
  service.install(presentVersion, present)
  t.equal(service.current, '0.1.0')
  t.ok(service.control('start'))
  const key = service.readKey()
  t.equal((await service.chat(key)).status, 200)
  t.equal((await service.chat(key)).status, 200)
  const before = readDatabase(service)
  t.same(before, { layout: ['0001-initial'], turns: 2 })

  const upgraded = await service.operate(presentVersion, ['upgrade', '--to', presentVersion, '--json'])
  t.equal(upgraded.code, 0, upgraded.stderr)
  t.match(JSON.parse(upgraded.stdout), { ok: true, from: '0.1.0', to: presentVersion })
  t.equal(service.current, presentVersion)
  t.same(readDatabase(service), { layout, turns: 2 })
  t.equal((await service.chat(key)).status, 200, 'the key of before works')
  const { uid } = statSync(service.dataDir)
  for (const name of ['gateway.db', 'before-migration/gateway.db', 'has-served'])
    t.equal(statSync(join(service.dataDir, name)).uid, uid, `${name} belongs to the user of the service`)
  t.notOk(existsSync(join(service.dataDir, 'upgrade-rehearsal')))

  const refused = await service.operate('current', ['upgrade', '--back'])
  t.equal(refused.code, 1)
  t.match(refused.stdout, /changed the layout.*Lost would be.*: 1 turn, 0 accounts and 0 boost packs,.*Nothing was changed/)
  t.equal((await service.chat(key)).status, 200, 'and it still runs')
  const shown = await service.operate('current', ['store', 'show'])
  t.match(shown.stdout, /before-migration.* with 0001-initial\. Recorded since: 2 turns, 0 accounts, 0 boost packs/)

  const back = await service.operate('current', ['upgrade', '--back', '--lose-them'])
  t.equal(back.code, 0, back.stderr)
  t.match(back.stdout, '0.1.0 runs again. Lost: 2 turns, 0 accounts and 0 boost packs.')
  t.equal(service.current, '0.1.0')
  t.same(readDatabase(service), before)
  t.equal((await service.chat(key)).status, 200)
  const verified = await service.operate('0.1.0', ['ledger', 'verify'])
  t.equal(verified.code, 0, verified.stdout)
  const again = await service.operate(presentVersion, ['upgrade', '--back'])
  t.match(again, { code: 1, stderr: /There is no version to go back to/ })
})

t.test('downloads a version by its number; where the layout is unchanged, the way back loses nothing', async (t) => {
  const { service, key } = await startPresentVersion(t, releases)
  const RELEASES_URL = await serveReleases(t)
  const upgraded = await service.operate('current', ['upgrade', '--to', '7.0.1'], { RELEASES_URL })
  t.equal(upgraded.code, 0, upgraded.stderr)
  t.match(upgraded.stdout, '7.0.1 runs. The way back: svc-gateway upgrade --back')
  t.same([service.current, readDatabase(service)], ['7.0.1', { layout, turns: 2 }])
  t.equal((await service.chat(key)).status, 200)
  // As svc-gateway-upgrade-back.service runs it; its conditions would not even start it.
  t.match(await service.operate('current', ['upgrade', '--back', '--unless-served']), {
    code: 1,
    stdout: /7\.0\.1 has accepted requests and may have sold turns, so nothing was taken back/,
  })
  t.equal(service.current, '7.0.1')
  t.match(await service.operate('current', ['upgrade', '--to', '7.0.1']), { code: 0, stdout: /is the version that runs/ })
  t.match(await service.operate('current', ['upgrade', '--to', present]), {
    code: 1,
    stderr: /is older than 7\.0\.1.*upgrade --back/,
  })
  t.match(await service.operate('current', ['upgrade', '--back']), { code: 0, stdout: /runs again\. Nothing was lost/ })
  t.same([service.current, readDatabase(service)], [presentVersion, { layout, turns: 3 }])
  t.equal((await service.chat(key)).status, 200)
})

t.test('refuses what the doctor of the new version finds, unless told otherwise; takes back what never listens', async (t) => {
  const { service, key } = await startPresentVersion(t, releases, { SITE_URL: 'http://models.example.com' })
  const isUnchanged = async (): Promise<void> => {
    t.same([service.current, readDatabase(service)], [presentVersion, { layout, turns: 2 }])
    t.equal((await fetch(`${service.origin}/readyz`)).status, 200)
    t.notOk(existsSync(join(service.dataDir, 'upgrade-rehearsal')))
    t.notOk(existsSync(join(service.root, 'unfinished')))
  }
  t.match(await service.operate('current', ['upgrade', '--to', broken]), {
    code: 1,
    stderr: /doctor found faults\. Nothing was changed.*--ignore-doctor\.\n {2}address: http:\/\/models\.example\.com/,
  })
  await isUnchanged()
  const { code, stdout, stderr } = await service.operate('current', ['upgrade', '--to', broken, '--ignore-doctor'])
  t.equal(code, 1)
  t.match(stderr, /The doctor found:\n {2}address:/)
  t.match(stderr, '7.0.2 did not become ready')
  t.match(stdout, `${presentVersion} runs again, with all its data: 7.0.2 had sold nothing`)
  await isUnchanged()
  t.equal((await service.chat(key)).status, 200)
})

t.test('refuses before anything is unpacked', async (t) => {
  const service = new InstalledService(t)
  service.install(presentVersion, present)
  const before = service.list()
  const versions = new InstalledVersions(join(service.root, presentVersion, 'lib/node_modules/svc-gateway'))
  const folder = createTemporaryFolder(t)
  const place = (name: string, bytes: Uint8Array | string): string => {
    writeFileSync(join(folder, name), bytes)
    return join(folder, name)
  }
  const changed = place('svc-gateway-7.0.1.tgz', Buffer.concat([readFileSync(patched), Buffer.from('changed')]))
  const downloads = await serveReleases(t)
  const refuse = (source: Partial<ReleaseSource>, message: RegExp): Promise<unknown> =>
    t.rejects(installRelease({ to: changed, sha256: undefined, releases: null, ...source }, versions), { message })
  await refuse({}, /There is no SHA256SUMS beside/)
  await refuse({ sha256: '0'.repeat(64) }, /has the SHA-256 [\da-f]{64}, and not 0{64}\. Nothing was unpacked/)
  await refuse({ to: join(folder, 'missing.tgz') }, /There is no file .*missing\.tgz/)
  await refuse({ to: '7.5.0' }, /7\.5\.0 is not installed, and no address of releases is known/)
  await refuse({ to: '7.5.0', releases: 'http://example.com' }, /no https address/)
  await refuse({ to: '7.0.9', releases: downloads }, /SHA256SUMS answers HTTP 404/)
  await refuse({ to: '0.1.0' }, /0\.1\.0 is older than/)
  place('SHA256SUMS', readFileSync(join(dirname(patched), 'SHA256SUMS')))
  await refuse({}, /Nothing was unpacked/)
  place('SHA256SUMS', '')
  await refuse({}, /has no line for svc-gateway-7\.0\.1\.tgz/)
  t.same(service.list(), before)
  for (const words of [[], ['--to', patched, '--back']])
    t.match(await run(['upgrade', ...words]), { code: 1, stderr: /Name what to do/ })
  t.match(await run(['upgrade', '--to', patched]), { code: 1, stderr: /was not installed by deploy\/install\.sh/ })
})

/** Serves version 7.0.1 as a release page does. Returns the address of the releases. */
async function serveReleases(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    const [, file] = /^\/download\/v7\.0\.1\/(svc-gateway-7\.0\.1\.tgz|SHA256SUMS)$/.exec(request.url ?? '') ?? []
    if (file === undefined) response.writeHead(404).end()
    else response.end(readFileSync(join(dirname(patched), file)))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/download`
}
