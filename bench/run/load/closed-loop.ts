/** A number of clients that send the next request after each answer, by wrk, which costs little, so that the other core belongs to the measured program. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createBody } from '../subjects/subject.ts'
import type { Shape, Subject } from '../subjects/subject.ts'

export interface ClosedLoopResult {
  readonly turns: number
  readonly seconds: number
  readonly failed: number
}

const execFileAsync = promisify(execFile)

export interface ClosedLoopOptions {
  /** Several programs under load on a busy machine may have to wait for so long that no turn is answered. */
  readonly mayStarve?: boolean
  /** Of wrk. Each rotates through all accounts. */
  readonly threads?: number
}

/**
 * `firstTurn` is the number of turns already sent, so that the rotation of accounts continues.
 * @throws if no turn was answered, unless `mayStarve`
 */
export async function runClosedLoop(
  subject: Subject,
  shape: Shape,
  clients: number,
  seconds: number,
  firstTurn: number,
  { mayStarve = false, threads = 1 }: ClosedLoopOptions = {},
): Promise<ClosedLoopResult> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-wrk-'))
  try {
    const keys = join(folder, 'keys')
    const first = firstTurn % Math.max(1, subject.keys.length)
    writeFileSync(keys, [...subject.keys.slice(first), ...subject.keys.slice(0, first)].map((key) => `${key}\n`).join(''))
    const script = join(folder, 'post.lua')
    writeFileSync(script, createWrkScript(subject, shape, keys))
    const { stdout } = await execFileAsync('wrk', [
      `-t${threads}`,
      `-c${clients}`,
      `-d${seconds}s`,
      '--timeout',
      '10s',
      '-s',
      script,
      subject.url,
    ])
    const [, turns = 0, micros = 0, failed = 0] = /RESULT (\d+) (\d+) (\d+)/.exec(stdout)?.map(Number) ?? []
    if (turns === 0 && !mayStarve) throw new Error(`${subject.name} answered nothing in ${seconds} s:\n${stdout}`)
    return { turns, seconds: micros / 1e6, failed }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function createWrkScript(subject: Subject, shape: Shape, keys: string): string {
  const headers = Object.entries({ 'Content-Type': 'application/json', ...subject.headers }).map(
    ([name, value]) => `wrk.headers[${toLuaString(name)}] = ${toLuaString(value)}\n`,
  )
  // The requests are built before the first is sent; with one key no choice is needed.
  const [one] = subject.keys
  const asks =
    subject.keys.length > 1 ? createRotation(keys) : one === undefined ? '' : `wrk.headers.Authorization = "Bearer ${one}"\n`
  return `wrk.method = "POST"\nwrk.body = ${toLuaString(createBody(subject, shape))}\n${headers.join('')}${asks}${resultScript}`
}

function createRotation(keys: string): string {
  return `
local requests, asked = {}, 0
init = function()
  for key in io.lines(${toLuaString(keys)}) do
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

const resultScript = `
done = function(summary)
  local e = summary.errors
  print(string.format("RESULT %d %d %d", summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
`

/** Lua reads strings quoted by JSON. */
function toLuaString(text: string): string {
  return JSON.stringify(text)
}
