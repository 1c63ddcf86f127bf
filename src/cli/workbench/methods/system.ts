/** The methods `system.…`, `events.…` and `app.…`: about the workbench and the connection rather than about what it shows. */
import { diagnose } from '../doctor.ts'
import type { Family, Handlers } from '../handler.ts'
import { methods } from '../params.ts'
import { eventNames, focusMethods, protocolRange, WorkbenchError } from '../protocol.ts'
import type { Workbench } from '../workbench.ts'
import { toWorkspace } from '../workbench.ts'

/** The hello and the ping are answered by the connection itself, before anything here can be reached. */
type Answered = 'system.hello' | 'system.ping'

export function systemMethods(
  bench: Workbench,
): Handlers<Exclude<Family<'system'>, Answered> | Family<'events'> | Family<'app'>> {
  return {
    'system.identify': async ({ caller }) => ({ focused: await bench.engine.focused(), caller }),

    'system.capabilities': async () => ({ protocol: protocolRange.max, capabilities: methods, focus: focusMethods }),

    'system.tree': async () => {
      const pages = bench.openPages()?.list() ?? []
      const workspaces = await bench.engine.list()
      return {
        workspaces: workspaces.map((state) => ({
          ...toWorkspace(bench, state),
          panes: state.panes,
          pages: pages.filter((page) => page.workspaceId === state.id),
        })),
      }
    },

    'system.doctor': async () => ({ checks: await diagnose(bench.settings), focusViolations: bench.guard.violations }),

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
