/** The record that a server has accepted requests, by which an upgrade decides whether it may go back by itself. */
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { recordServing } from '../../../src/server/record-serving.ts'
import { DataFolder } from '../../../src/system/data-folder/data-folder.ts'
import { startGateway, testConfig } from '../../support/gateway/test-gateway.ts'
import { openGateway } from '../../../src/server/serving-thread.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'

t.test('the record exists before the server listens, and stays', async (t) => {
  const folder = new DataFolder(createTemporaryFolder(t))
  for (const attempt of ['first', 'second'])
    t.equal(await recordServing(folder, async () => (existsSync(folder.hasServed) ? attempt : 'none')), attempt)
  await t.rejects(
    recordServing(folder, () => Promise.reject(new Error('in use'))),
    { message: 'in use' },
  )
  t.ok(existsSync(folder.hasServed), 'an earlier start has served')
})

t.test('a server that could not listen leaves no record', async (t) => {
  const folder = new DataFolder(createTemporaryFolder(t))
  await t.rejects(
    recordServing(folder, () => Promise.reject(new Error('in use'))),
    { message: 'in use' },
  )
  t.notOk(existsSync(folder.hasServed))
  const missing = new DataFolder(join(folder.path, 'missing'))
  await t.rejects(
    recordServing(missing, async () => undefined),
    { name: 'OperatorError', message: /cannot be written/ },
  )
})

t.test('a gateway writes it, unless its port is in use', async (t) => {
  const gateway = await startGateway(t)
  t.ok(existsSync(new DataFolder(gateway.config.store.dataDir).hasServed))
  const blocker = createServer().listen(0, '127.0.0.1')
  t.teardown(() => blocker.close())
  await new Promise((resolve) => blocker.once('listening', resolve))
  const data = join(createTemporaryFolder(t), 'data')
  const config = testConfig(t, { store: { dataDir: data }, listen: { port: (blocker.address() as AddressInfo).port } })
  await t.rejects(openGateway({ config, logDestination: { write: () => undefined } }))
  t.notOk(existsSync(new DataFolder(data).hasServed))
})
