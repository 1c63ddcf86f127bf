#!/usr/bin/env node
import { launch } from './launch.js'

await launch('src/operator/main', ({ main }) => main(process.argv), { threads: true })
