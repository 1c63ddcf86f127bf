#!/usr/bin/env node
import { launch } from './launch.js'

const [command = 'start'] = process.argv.slice(2)

await launch('src/operator/main', ({ main }) => main(process.argv), { usesWorkers: true, isServer: command === 'start' })
