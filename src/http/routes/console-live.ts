/** `/operator/live`: the figures of the console's first page as server-sent events, in the reader's words; and the ids of turns as they end. */
import { Readable } from 'node:stream'
import type { Router } from '../../system/vendor/koa-router.ts'
import type { OperatorAccess } from '../../domain/identity/operators/operator-actor.ts'
import { decideAccess } from '../../domain/identity/operators/operator-actor.ts'
import { GatewayError } from '../../errors.ts'
import type { Assets } from '../../pages/assets.ts'
import type { OperatorContext } from '../../pages/page.ts'
import { readLiveFigures } from '../../pages/views/operator/now/now.ts'
import { consoleSections } from '../../pages/views/operator/sections.ts'
import { liveTurnsPath, openLiveTurns } from '../../pages/views/operator/turns/turns.ts'
import { admitOperator } from '../operator-page.ts'
import type { RouteDeps } from '../route-deps.ts'
import { createPageContext } from './pages.ts'

const everyMs = 5_000
/** How soon a stream notices that the server shuts down. */
const stepMs = 1_000
/** A stream ends by itself, and the browser opens another one. */
const maxSteps = 300
/** Of one thread: each costs a reading of the metrics, or of a page of turns, every five seconds. */
const maxStreams = 20
/** Of one operator, so that the pages of others stay live; each open page has one. */
const maxStreamsOfOperator = 5

type ReadEvent = (context: OperatorContext) => Promise<unknown>

interface LiveStream {
  readonly path: string
  readonly access: OperatorAccess
  /** Returns what reads the next event. @throws GatewayError for an address that cannot be used */
  readonly open: (context: OperatorContext) => Promise<ReadEvent>
}

const streams: readonly LiveStream[] = [
  { path: '/operator/live', access: { scope: null }, open: async () => readLiveFigures },
  { path: liveTurnsPath, access: consoleSections.turns.access, open: openLiveTurns },
]

export function mountConsoleLiveRoute(router: Router, { services, operations }: RouteDeps, assets: Assets): void {
  const runningOwners: string[] = []
  for (const { path, access, open } of streams)
    router.get(path, async (ctx) => {
      const context = createPageContext(ctx, null, services, assets)
      const operator = await admitOperator(context, access)
      if (operator === null) throw new GatewayError('sign_in_required')
      const operatorContext = { ...context, operator, operations }
      const readEvent = await open(operatorContext)
      const { actor } = operator
      const owner = actor.kind === 'session' ? actor.account : actor.session
      const ofOwner = runningOwners.filter((each) => each === owner).length
      if (runningOwners.length >= maxStreams || ofOwner >= maxStreamsOfOperator) throw new GatewayError('temporarily_unavailable')
      ctx.type = 'text/event-stream; charset=utf-8'
      ctx.set('cache-control', 'no-store')
      ctx.set('x-accel-buffering', 'no')
      ctx.status = 200
      if (ctx.method === 'HEAD') return
      runningOwners.push(owner)
      const stream = Readable.from(writeEvents(operatorContext, access, readEvent))
      stream.once('close', () => runningOwners.splice(runningOwners.indexOf(owner), 1))
      ctx.body = stream
    })
}

async function* writeEvents(context: OperatorContext, access: OperatorAccess, readEvent: ReadEvent): AsyncIterable<string> {
  const { operations, services, browser } = context
  for (let step = 0; step < maxSteps && !operations.isDraining(); step += 1) {
    if (step % (everyMs / stepMs) === 0) {
      // A session that has ended, or whose role was taken, sees nothing more.
      const operator = await browser.findOperator()
      if (operator === undefined || decideAccess(operator.actor, access, services.clock.now()) !== 'allowed') return
      yield `data: ${JSON.stringify(await readEvent({ ...context, operator }))}\n\n`
    }
    await services.clock.wait(stepMs)
  }
}
