/** `svc-gateway check` */
import { ConfigError, configFile, loadConfig } from '../config/config.ts'
import type { GatewayConfig } from '../config/config.ts'
import { shownUrl } from '../config/shown-url.ts'
import { say } from './output.ts'
import type { Output, Said } from './output.ts'

/** Reads and checks the configuration, and says what it amounts to; exits with 1 and the faults where it cannot work. */
export async function check(options: Output): Promise<Said> {
  const file = configFile()
  let config: GatewayConfig
  try {
    config = await loadConfig(file)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const faults = error.message.split('\n')
    const told = () => [`${file} cannot work:`, ...faults.map((fault) => `  ${fault}`)].join('\n')
    return say(options, { ok: false, file, faults }, told, false)
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
  return say(options, summary, () =>
    [
      `${file} is fine.`,
      `  plugins    ${summary.plugins.join(' → ')}`,
      `  products   ${summary.products.join(', ')}`,
      `  plans      ${summary.plans.join(', ')}`,
      `  upstreams  ${summary.upstreams.map(({ name, base_url }) => `${name} (${base_url})`).join(', ')}`,
    ].join('\n'),
  )
}
