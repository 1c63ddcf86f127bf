/** The focus guard with a memory engine and a stopped clock. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MemoryEngine } from '../../../../../src/cli/workbench/engine/memory-engine.ts'
import type { FocusIntent } from '../../../../../src/cli/workbench/engine/terminal-engine.ts'
import { FocusGuard } from '../../../../../src/cli/workbench/engine/focus-guard.ts'
import type { FocusCause, Method } from '../../../../../src/cli/workbench/protocol/methods.ts'
import type { Focus } from '../../../../../src/cli/workbench/protocol/results.ts'

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
    override listClients(): Promise<typeof users> {
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

/** A focus-moving call without an intent, which the types forbid in a handler. */
const forged = {} as unknown as FocusIntent

t.test('counts, reports and reverts a move by a method that must not move the focus', async (t) => {
  const { engine, guard, violations, behind } = await scene(false)
  const before = await engine.getFocus()
  t.equal(
    await guard.runQuietMethod('workspace.create', async () => engine.focusWorkspace(forged, behind).then(() => 'done')),
    'done',
  )
  t.strictSame(await engine.getFocus(), before)
  t.strictSame(violations, ['workspace.create'])
  t.equal(guard.violations, 1)
})

t.test('throws in strict mode', async (t) => {
  const { engine, guard, behind } = await scene(true)
  await t.rejects(
    guard.runQuietMethod('pane.split', () => engine.focusWorkspace(forged, behind)),
    { message: /pane.split moved the focus/ },
  )
})

t.test('does not revert a move that the user makes meanwhile', async (t) => {
  const { engine, guard, violations, moves, behind } = await scene(true, [{ tty: '/dev/x', term: 'xterm', activeAt: 5_000 }])
  await guard.runQuietMethod('browser.goto', () => engine.focusWorkspace(forged, behind))
  t.equal((await engine.getFocus()).workspaceId, behind)
  t.strictSame(violations, [])
  t.match(moves, [{ cause: { kind: 'user' } }])
})

t.test('does not attribute a move to an inactive user', async (t) => {
  const { engine, guard, behind } = await scene(true, [{ tty: '/dev/x', term: 'xterm', activeAt: 4_999 }])
  await t.rejects(guard.runQuietMethod('browser.goto', () => engine.focusWorkspace(forged, behind)))
})

t.test('does not blame a slow call for the move of a focus method beside it', async (t) => {
  const { engine, guard, violations, behind } = await scene(true)
  const slow = Promise.withResolvers<void>()
  const waiting = guard.runQuietMethod('browser.wait', () => slow.promise)
  await guard.runFocusMethod('workspace.focus', 1, (intent) => engine.focusWorkspace(intent, behind))
  slow.resolve()
  await waiting
  t.strictSame(violations, [])
  t.equal((await engine.getFocus()).workspaceId, behind)
})

t.test('does not restore a focus whose pane is gone', async (t) => {
  const { engine, guard, violations } = await scene(true)
  const { workspaceId } = await engine.getFocus()
  await guard.runQuietMethod('workspace.close', () => engine.closeWorkspace(workspaceId ?? ''))
  t.strictSame(violations, [])
})

t.test('reports every move with its cause', async (t) => {
  const { engine, guard, moves, behind } = await scene(true)
  await guard.observeFocus()
  moves.length = 0
  await guard.runFocusMethod('workspace.focus', 'request-1', (intent) => engine.focusWorkspace(intent, behind))
  t.match(moves, [{ to: { workspaceId: behind }, cause: { kind: 'method', method: 'workspace.focus', requestId: 'request-1' } }])
  await guard.observeFocus()
  t.equal(moves.length, 1, 'the engine saying so again is no second move')
  await engine.stepWorkspace(forged, 'next')
  await guard.observeFocus()
  t.match(moves[1], { cause: { kind: 'user' } })
})

t.test('only a focus method receives an intent', async (t) => {
  const { guard } = await scene(true)
  await t.rejects(
    guard.runFocusMethod('pane.split', 1, () => Promise.resolve()),
    { message: /not a focus method/ },
  )
})

t.test('only the focus file names commands that move the focus', (t) => {
  const root = join(import.meta.dirname, '../../../../../src')
  const forbidden =
    /select-window|select-pane|switch-client|(?:next|previous|last)-window|last-pane|bringToFront|headless: false|display-popup|display-menu|choose-tree|copy-mode|swap-pane|swap-window/
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && /^cli\/(?:workbench|workbench-commands)\//.test(name))
    .filter((name) => forbidden.test(readFileSync(join(root, name), 'utf8')))
  t.strictSame(found, ['cli/workbench/tmux/focus.ts'])
  t.end()
})
