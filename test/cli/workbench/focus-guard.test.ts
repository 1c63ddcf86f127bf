/** The focus guard with an engine in memory and a clock that stands still. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MemoryEngine } from '../../../src/cli/workbench/engine-memory.ts'
import type { FocusIntent } from '../../../src/cli/workbench/engine.ts'
import { FocusGuard } from '../../../src/cli/workbench/focus-guard.ts'
import type { FocusCause, Method } from '../../../src/cli/workbench/protocol.ts'
import type { Focus } from '../../../src/cli/workbench/results.ts'

interface Scene {
  readonly engine: MemoryEngine
  readonly guard: FocusGuard
  readonly moves: { readonly to: Focus; readonly cause: FocusCause }[]
  readonly violations: Method[]
  readonly behind: string
}

async function scene(strict: boolean, users: readonly { tty: string; term: string; activeAt: number }[] = []): Promise<Scene> {
  let count = 0
  class Engine extends MemoryEngine {
    override clients(): Promise<typeof users> {
      return Promise.resolve(users)
    }
  }
  const engine = new Engine((prefix) => `${prefix}_${(count += 1)}`)
  const { workspaceId } = await engine.createWorkspace({ title: 'behind', cwd: '/', env: {} })
  const moves: { to: Focus; cause: FocusCause }[] = []
  const violations: Method[] = []
  const guard = new FocusGuard({
    engine,
    now: () => 5_000_900,
    strict,
    onMoved: (_from, to, cause) => moves.push({ to, cause }),
    onViolation: (method) => violations.push(method),
  })
  return { engine, guard, moves, violations, behind: workspaceId ?? '' }
}

/** What no handler can write down: a moving call without having been given an intent. */
const forged = {} as unknown as FocusIntent

t.test('a method that moves the focus and must not is counted, told and put right', async (t) => {
  const { engine, guard, violations, behind } = await scene(false)
  const before = await engine.focused()
  t.equal(await guard.quietly('workspace.create', async () => engine.focusWorkspace(forged, behind).then(() => 'done')), 'done')
  t.strictSame(await engine.focused(), before)
  t.strictSame(violations, ['workspace.create'])
  t.equal(guard.violations, 1)
})

t.test('in tests it is an error', async (t) => {
  const { engine, guard, behind } = await scene(true)
  await t.rejects(
    guard.quietly('pane.split', () => engine.focusWorkspace(forged, behind)),
    { message: /pane.split moved the focus/ },
  )
})

t.test('a user who moves meanwhile is not brought back', async (t) => {
  const { engine, guard, violations, moves, behind } = await scene(true, [{ tty: '/dev/x', term: 'xterm', activeAt: 5_000 }])
  await guard.quietly('browser.goto', () => engine.focusWorkspace(forged, behind))
  t.equal((await engine.focused()).workspaceId, behind)
  t.strictSame(violations, [])
  t.match(moves, [{ cause: { kind: 'user' } }])
})

t.test('a user who has been still is not taken for the reason', async (t) => {
  const { engine, guard, behind } = await scene(true, [{ tty: '/dev/x', term: 'xterm', activeAt: 4_999 }])
  await t.rejects(guard.quietly('browser.goto', () => engine.focusWorkspace(forged, behind)))
})

t.test('a focus method beside a slow call is not held against the slow one', async (t) => {
  const { engine, guard, violations, behind } = await scene(true)
  const slow = Promise.withResolvers<void>()
  const waiting = guard.quietly('browser.wait', () => slow.promise)
  await guard.moving('workspace.focus', 1, (intent) => engine.focusWorkspace(intent, behind))
  slow.resolve()
  await waiting
  t.strictSame(violations, [])
  t.equal((await engine.focused()).workspaceId, behind)
})

t.test('what was in front and is gone is not gone back to', async (t) => {
  const { engine, guard, violations } = await scene(true)
  const { workspaceId } = await engine.focused()
  await guard.quietly('workspace.close', () => engine.closeWorkspace(workspaceId ?? ''))
  t.strictSame(violations, [])
})

t.test('every move is told with its cause', async (t) => {
  const { engine, guard, moves, behind } = await scene(true)
  await guard.observe()
  moves.length = 0
  await guard.moving('workspace.focus', 'request-1', (intent) => engine.focusWorkspace(intent, behind))
  t.match(moves, [{ to: { workspaceId: behind }, cause: { kind: 'method', method: 'workspace.focus', requestId: 'request-1' } }])
  await guard.observe()
  t.equal(moves.length, 1, 'the engine saying so again is no second move')
  await engine.stepWorkspace(forged, 'next')
  await guard.observe()
  t.match(moves[1], { cause: { kind: 'user' } })
})

t.test('only a focus method can be given an intent', async (t) => {
  const { guard } = await scene(true)
  await t.rejects(
    guard.moving('pane.split', 1, () => Promise.resolve()),
    { message: /not a focus method/ },
  )
})

t.test('what moves the focus is named in the focus file alone', (t) => {
  const root = join(import.meta.dirname, '../../../src')
  const forbidden =
    /select-window|select-pane|switch-client|(?:next|previous|last)-window|last-pane|bringToFront|headless: false|display-popup|display-menu|choose-tree|copy-mode|swap-pane|swap-window/
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && /^cli\/(?:workbench|local)\//.test(name))
    .filter((name) => forbidden.test(readFileSync(join(root, name), 'utf8')))
  t.strictSame(found, ['cli/workbench/tmux/focus.ts'])
  t.end()
})
