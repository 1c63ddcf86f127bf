/** `svc-gateway --version`: which release and which commit run here. */
import { readCommit } from '../../system/commit.ts'
import { readVersion } from '../../system/version.ts'
import { renderResult } from '../output.ts'
import type { CommandResult, OutputOptions } from '../output.ts'

export function printVersion(options: OutputOptions): CommandResult {
  const [version, commit] = [readVersion(), readCommit()]
  return renderResult(options, { version, commit }, () => `svc-gateway ${version} (${commit})`)
}
