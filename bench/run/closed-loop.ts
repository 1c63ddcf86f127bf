/** So many clients that ask again as soon as they are answered, by wrk: it costs little itself, so the other core is the measured program's. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bodyOf } from './subject.ts'
import type { Shape, Subject } from './subject.ts'

export interface Load {
  readonly turns: number
  readonly seconds: number
  readonly failed: number
}

const run = promisify(execFile)

/** `from` is how many turns it has been asked already, so that its accounts go on in turn. */
export async function closedLoop(subject: Subject, shape: Shape, clients: number, seconds: number, from: number): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-wrk-'))
  try {
    const keys = join(folder, 'keys')
    const first = from % Math.max(1, subject.keys.length)
    writeFileSync(keys, [...subject.keys.slice(first), ...subject.keys.slice(0, first)].map((key) => `${key}\n`).join(''))
    const script = join(folder, 'post.lua')
    writeFileSync(script, scriptOf(subject, shape, keys))
    const { stdout } = await run('wrk', ['-t1', `-c${clients}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, subject.url])
    const [, turns = 0, micros = 0, failed = 0] = /RESULT (\d+) (\d+) (\d+)/.exec(stdout)?.map(Number) ?? []
    if (turns === 0) throw new Error(`${subject.name} answered nothing in ${seconds} s:\n${stdout}`)
    return { turns, seconds: micros / 1e6, failed }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function scriptOf(subject: Subject, shape: Shape, keys: string): string {
  const headers = Object.entries({ 'Content-Type': 'application/json', ...subject.headers }).map(
    ([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}\n`,
  )
  // The requests are made before the first is sent; one key needs no choice.
  const [one] = subject.keys
  const asks = subject.keys.length > 1 ? inTurn(keys) : one === undefined ? '' : `wrk.headers.Authorization = "Bearer ${one}"\n`
  return `wrk.method = "POST"\nwrk.body = ${lua(bodyOf(subject, shape))}\n${headers.join('')}${asks}${report}`
}

function inTurn(keys: string): string {
  return `
local requests, asked = {}, 0
init = function()
  for key in io.lines(${lua(keys)}) do
    wrk.headers.Authorization = "Bearer " .. key
    requests[#requests + 1] = wrk.format()
  end
end
request = function()
  asked = asked % #requests + 1
  return requests[asked]
end
`
}

const report = `
done = function(summary)
  local e = summary.errors
  print(string.format("RESULT %d %d %d", summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
`

/** What JSON quotes, Lua reads alike. */
function lua(text: string): string {
  return JSON.stringify(text)
}
