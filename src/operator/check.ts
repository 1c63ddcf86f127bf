/** `svc-gateway check` */
import { ConfigError, configFile, loadConfig } from '../config/config.ts'
import type { GatewayConfig } from '../config/config.ts'
import { shownUrl } from '../config/shown-url.ts'
import { show } from './output.ts'
import type { Output } from './output.ts'

/** Reads and checks the configuration, and says what it amounts to; exits with 1 and the faults where it cannot work. */
export async function check(options: Output): Promise<void> {
  const file = configFile()
  let config: GatewayConfig
  try {
    config = await loadConfig(file)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.exitCode = 1
    const faults = error.message.split('\n')
    show(options, { ok: false, file, faults }, () => [`${file} cannot work:`, ...faults.map((fault) => `  ${fault}`)].join('\n'))
    return
  }
  const summary = {
    ok: true,
    file,
    listen: `${config.listen.host}:${config.listen.port}`,
    products: Object.keys(config.products),
    plans: Object.keys(config.plans),
    upstreams: Object.entries(config.upstreams).map(([name, { baseUrl }]) => ({
      name,
      base_url: baseUrl === 'demo' ? baseUrl : shownUrl(baseUrl),
    })),
    plugins: config.plugins.map(({ name }) => name),
  }
  show(options, summary, () =>
    [
      `${file} is fine.`,
      `  plugins    ${summary.plugins.join(' → ')}`,
      `  products   ${summary.products.join(', ')}`,
      `  plans      ${summary.plans.join(', ')}`,
      `  upstreams  ${summary.upstreams.map(({ name, base_url }) => `${name} (${base_url})`).join(', ')}`,
    ].join('\n'),
  )
}
