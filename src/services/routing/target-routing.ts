/** The targets behind each product, and which of them operators have taken out: for the operator API and the console alike. */
import type { Product, Target } from '../../domain/billing/catalog/product.ts'
import type { OperatorAuthor } from '../../domain/services/operators/operator-author.ts'
import type { TakenOutTarget } from '../../domain/taken-out-target.ts'
import { errorCatalog, GatewayError } from '../../errors.ts'
import type { Services } from '../services.ts'

export interface RoutedTarget {
  /** `upstream/model`. */
  readonly name: string
  readonly upstream: string
  readonly model: string
  readonly weight: number
  readonly cost: Target['cost']
}

export interface RoutedProduct {
  readonly product: Product
  /** Those that are set up. */
  readonly targets: readonly RoutedTarget[]
}

type Routing = Pick<Services, 'products' | 'upstreams'>

export function listRoutedProducts({ products, upstreams }: Routing): readonly RoutedProduct[] {
  return products.all.map((product) => ({
    product,
    targets: product.targets.flatMap((target) =>
      upstreams.listTargets([target], getFallbackModel(product)).map(({ name, upstream, model }) => ({
        name,
        upstream: upstream.name,
        model,
        weight: target.weight,
        cost: target.cost ?? null,
      })),
    ),
  }))
}

/** A chat product may use its own id as the model. */
export function getFallbackModel({ id, capabilities }: Product): string | null {
  return capabilities.includes('chat') ? id : null
}

/** The products that would have no target left if this one were taken out besides the others. */
export function listEmptiedProducts(target: string, takenOut: ReadonlySet<string>, routing: Routing): readonly string[] {
  return listRoutedProducts(routing)
    .filter(({ targets }) => targets.some(({ name }) => name === target))
    .filter(({ targets }) => targets.every(({ name }) => name === target || takenOut.has(name)))
    .map(({ product }) => product.id)
}

/**
 * The router leaves it out on this thread now, and on all others and all nodes within two seconds.
 * @throws GatewayError `not_found`; `conflict` for the last target of a product, unless `allowsLast`
 */
export async function takeOutTarget(
  { target, minutes, allowsLast }: { readonly target: string; readonly minutes: number; readonly allowsLast: boolean },
  author: OperatorAuthor & { readonly reason: string },
  services: Services,
): Promise<TakenOutTarget> {
  requireTarget(target, services)
  let emptiedProducts: readonly string[] = []
  const mayTakeOut = (takenOut: ReadonlySet<string>): boolean => {
    emptiedProducts = listEmptiedProducts(target, takenOut, services)
    return allowsLast || emptiedProducts.length === 0
  }
  const takenOutTarget = await services.membership.targetRouting.takeOut({ target, minutes, mayTakeOut }, author)
  if (takenOutTarget === undefined) throw createLastTargetError(emptiedProducts)
  await followTakenOutTargets(services)
  return takenOutTarget
}

/** @throws GatewayError `conflict` where it is not out */
export async function bringBackTarget(target: string, author: OperatorAuthor, services: Services): Promise<void> {
  // One that is no longer configured can be brought back too.
  const isBack = await services.membership.targetRouting.bringBack(target, author)
  await followTakenOutTargets(services)
  if (!isBack)
    throw new GatewayError('conflict', {
      message: { en: 'This target is not taken out.', zh: '该目标未被停用。' },
      shouldRetry: false,
    })
}

/** Reads what all nodes share, before this thread serves and then every two seconds. */
export async function followTakenOutTargets({
  store,
  upstreams,
  clock,
}: Pick<Services, 'store' | 'upstreams' | 'clock'>): Promise<void> {
  const at = { now: clock.now(), monotonicMs: clock.monotonicMs() }
  upstreams.takenOut.replace(await store.takenOutTargets.list(at.now), at)
}

/** @throws GatewayError `not_found` */
export function requireTarget(name: string, routing: Routing): RoutedTarget {
  const target = listRoutedProducts(routing)
    .flatMap(({ targets }) => targets)
    .find((each) => each.name === name)
  if (target === undefined) throw new GatewayError('not_found')
  return target
}

function createLastTargetError(products: readonly string[]): GatewayError {
  const { en, zh, status } = errorCatalog.upstream_model_unavailable
  const names = products.join(', ')
  return new GatewayError('conflict', {
    param: 'allow_last',
    shouldRetry: false,
    message: {
      en: `This is the last target of ${names}. Until it is back, members who ask for it get ${status} upstream_model_unavailable: “${en}” Confirm that to take it out.`,
      zh: `这是 ${names} 的最后一个目标。恢复之前，请求该模型的会员会收到 ${status} upstream_model_unavailable：“${zh}”确认后才会停用。`,
    },
  })
}
