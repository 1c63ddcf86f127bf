/** Closed-loop load by wrk (Debian's package of that name): it costs little itself, so the other core is the measured program's. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Load {
  readonly requests: number
  readonly seconds: number
  readonly failed: number
}

const run = promisify(execFile)

export async function wrk(
  url: string,
  headers: Record<string, string>,
  body: string,
  clients: number,
  seconds: number,
): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-wrk-'))
  try {
    const script = join(folder, 'post.lua')
    const lines = Object.entries(headers).map(
      ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
    )
    writeFileSync(script, `wrk.method = "POST"\nwrk.body = ${JSON.stringify(body)}\n${lines.join('\n')}\n${report}`)
    const { stdout } = await run('wrk', ['-t1', `-c${clients}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url])
    const [, requests = 0, micros = 0, failed = 0] = /RESULT (\d+) (\d+) (\d+)/.exec(stdout)?.map(Number) ?? []
    return { requests, seconds: micros / 1e6, failed }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const report = `
done = function(summary)
  local e = summary.errors
  print(string.format("RESULT %d %d %d", summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
`
