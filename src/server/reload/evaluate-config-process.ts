/** A short-lived process that evaluates the configuration file and sends its values to the server that started it. */
import { ConfigError, loadConfig } from '../../config/config.ts'
import { describeThrown } from '../../system/operator-error.ts'
import { describePlugins } from './describe-plugins.ts'
import type { EvaluationReply } from './evaluate-config.ts'

// A server that ends meanwhile needs no answer.
process.on('disconnect', () => process.exit())
process.send?.(await evaluate(), () => process.disconnect())

async function evaluate(): Promise<EvaluationReply> {
  try {
    const { plugins, ...values } = await loadConfig()
    return { ok: true, evaluated: { values, plugins: describePlugins(plugins) } }
  } catch (error) {
    if (error instanceof ConfigError) return { ok: false, message: error.message }
    return { ok: false, message: `The configuration cannot be evaluated: ${describeThrown(error)}` }
  }
}
