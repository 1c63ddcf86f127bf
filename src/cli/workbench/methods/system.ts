/** The methods `system.…`, `events.…` and `app.…`: the workbench itself and the client's connection. */
import { runChecks } from '../doctor.ts'
import type { Family, Handlers } from './handler.ts'
import { methodNames, methods } from '../protocol/methods.ts'
import { eventNames, protocolRange, WorkbenchError } from '../protocol/protocol.ts'
import { focusMethods } from '../protocol/methods.ts'
import type { Workbench } from '../workbench.ts'
import { toWorkspace } from '../workbench.ts'

/** The connection answers hello and ping itself, before any handler. */
type ConnectionMethod = 'system.hello' | 'system.ping'

export function createSystemMethods(
  bench: Workbench,
): Handlers<Exclude<Family<'system'>, ConnectionMethod> | Family<'events'> | Family<'app'>> {
  return {
    'system.identify': async ({ caller }) => ({ focused: await bench.engine.getFocus(), caller }),

    'system.capabilities': async () => ({
      protocol: protocolRange.max,
      capabilities: methodNames,
      focus: focusMethods,
      summaries: Object.fromEntries(methodNames.map((name) => [name, methods[name].summary])),
    }),

    'system.tree': async () => {
      const pages = bench.openPages()?.list() ?? []
      const workspaces = await bench.engine.listWorkspaces()
      return {
        workspaces: workspaces.map((state) => ({
          ...toWorkspace(bench, state),
          panes: state.panes,
          pages: pages.filter((page) => page.workspaceId === state.id),
        })),
      }
    },

    'system.doctor': async () => ({ checks: await runChecks(bench.settings), focusViolations: bench.guard.violations }),

    'events.subscribe': async ({ params, peer }) => {
      const { id, gap } = peer.subscribe(params.names ?? eventNames, params.after)
      return { subscriptionId: id, bootId: bench.events.bootId, seq: bench.events.seq, gap }
    },

    'events.unsubscribe': async ({ params, peer }) => {
      if (!peer.unsubscribe(params.subscriptionId))
        throw new WorkbenchError('not_found', `no subscription ${params.subscriptionId}`)
      return { ok: true }
    },

    'app.shutdown': async ({ params }) => {
      bench.shutdown(params.killSessions ?? false)
      return { ok: true }
    },
  }
}
