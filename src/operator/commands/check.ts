/** `svc-gateway check` */
import { ConfigError, describeConfigError, resolveConfigFile, loadConfig } from '../../config/config.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { redactUrl } from '../../config/redact-url.ts'
import { openPaymentProviders } from '../../payments/open-payment-providers.ts'
import { systemClock } from '../../system/clock.ts'
import { DataFolder } from '../../system/data-folder/data-folder.ts'
import { renderResult } from '../output.ts'
import type { OutputOptions, CommandResult } from '../output.ts'

/** Reads and checks the configuration and prints a summary; exits with 1 and the errors where it cannot work. */
export async function check(options: OutputOptions): Promise<CommandResult> {
  const file = resolveConfigFile()
  let config: GatewayConfig
  let providers: readonly string[]
  try {
    config = await loadConfig(file)
    providers = await listPaymentProviders(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const faults = error.message.split('\n')
    const errorWithFile = new ConfigError(error.message, { file })
    return renderResult(options, { ok: false, file, faults }, () => describeConfigError(errorWithFile), false)
  }
  const summary = {
    ok: true,
    file,
    listen: `${config.listen.host}:${config.listen.port}`,
    products: Object.keys(config.products),
    plans: Object.keys(config.plans),
    upstreams: Object.entries(config.upstreams).map(([name, { baseUrl }]) => ({
      name,
      base_url: baseUrl === 'demo' ? baseUrl : redactUrl(baseUrl),
    })),
    plugins: config.plugins.map(({ name }) => name),
    payments: providers,
  }
  return renderResult(options, summary, () =>
    [
      `${file} is fine.`,
      `  plugins    ${summary.plugins.join(' → ')}`,
      `  products   ${summary.products.join(', ')}`,
      `  plans      ${summary.plans.join(', ')}`,
      `  upstreams  ${summary.upstreams.map(({ name, base_url }) => `${name} (${base_url})`).join(', ')}`,
      ...(providers.length === 0 ? [] : [`  payments   ${providers.join(', ')}`]),
    ].join('\n'),
  )
}

/** Opens them as a start does: a module may refuse its options. @throws ConfigError */
async function listPaymentProviders(config: GatewayConfig): Promise<readonly string[]> {
  const deps = { clock: systemClock, secret: Buffer.alloc(32), folder: new DataFolder(config.store.dataDir) }
  return [...(await openPaymentProviders(config, deps)).keys()]
}
