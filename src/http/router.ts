/** The router by its CommonJS entry: the other one imports `http`, and so what `system/node-http.ts` goes around. */
import { createRequire } from 'node:module'
import type * as koaRouter from '@koa/router'

export const { Router } = createRequire(import.meta.url)('@koa/router') as typeof koaRouter
export type Router = koaRouter.Router
