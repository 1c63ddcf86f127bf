/** A configuration in one line, but for its plugins' programs, so that two can be compared. */
import type { GatewayConfig } from '../../config/config.ts'

export function configLine(config: GatewayConfig): string {
  return JSON.stringify(config)
}
