/** Shows the style guide of this checkout: `node test/system/pages/styleguide/main.ts`, until Ctrl-C. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import base from '../../../../gateway.config.ts'
import { checkConfig } from '../../../../src/config/config.ts'
import { openGateway } from '../../../../src/server/serving-thread.ts'
import { startStyleguide } from './server.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'svc-gateway-styleguide-'))
const config = checkConfig({ ...base, listen: { host: '127.0.0.1', port: 0 }, store: { dataDir }, log: { level: 'silent' } })
const gateway = await openGateway({ config })
const { url, close } = await startStyleguide(gateway.url, 8790)
console.log(`${url}/styleguide`)
process.once('SIGINT', async () => {
  close()
  await gateway.close({ drainMs: 0 })
  rmSync(dataDir, { recursive: true })
})
