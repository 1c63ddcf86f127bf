/** The router by its CommonJS entry: the ES module imports `http`, which `node-http.ts` avoids. */
import { createRequire } from 'node:module'
import type * as koaRouter from '@koa/router'

export const { Router } = createRequire(import.meta.url)('@koa/router') as typeof koaRouter
export type Router = koaRouter.Router
