// The quickest job first: a scheduler for the slots of one testbed. It hears of changes over STOMP and acts over REST.
//
//   node scheduler.mjs [DOOR] [TESTBED] [EXECUTORS] [RUNS]
//
// Every BatchJob runs RUNS times with EXECUTORS executors. How long it took is remembered in the job itself.
import {Client} from '@stomp/stompjs'

const [door = 'http://127.0.0.1:8082', testbed = 'bench', executors = '2', runs = '1'] = process.argv.slice(2)
const ME = 'quickest' // begins the names of its Schedulings, and is its key in the jobs' data
const failed = new Set()

async function ask(method, path, body) {
  const options = {method, headers: {'content-type': 'application/json'}, body: body && JSON.stringify(body)}
  const answer = await fetch(`${door}/external/${path}`, options)
  if (answer.status === 404) return null // it went meanwhile
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

const ran = job => job.scheduledEvents.filter(event => event.successful)
const seconds = job => Number(job.externalScheduler[ME]?.[0].seconds ?? 0) // unknown ones first: to learn about them

// From the history that the cluster keeps, so that doing it twice does no harm.
async function remember(job) {
  const times = ran(job).map(event => (Date.parse(event.stop) - Date.parse(event.start)) / 1000)
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length
  const row = {seconds: mean.toFixed(3), runs: String(times.length)}
  await ask('PUT', `jobs/${job.name}`, {name: job.name, externalScheduler: {[ME]: [row]}})
}

async function decide() {
  const mine = (await ask('GET', 'schedulings')).filter(each => each.name.startsWith(`${ME}-`))
  const jobs = await ask('GET', 'jobs') // after the Schedulings: of one that has completed, the run is in its job
  for (const {name, state, queue: [job], problems} of mine) {
    if (state === 'CompletedState' && jobs[job]) await remember(jobs[job])
    if (state === 'FailedState') failed.add(job) && console.error(`${job} failed:`, problems)
    if (['CompletedState', 'FailedState'].includes(state)) await ask('DELETE', `schedulings/${name}`)
  }
  if (mine.length) return // one at a time; of what was just deleted it hears when it is gone
  if ((await ask('GET', `testbeds/${testbed}`))?.state !== 'SUCCESS') return
  const ready = Object.values(jobs).filter(job => job.state === 'ReadyState' && ran(job).length < runs && !failed.has(job.name))
  const [next] = ready.sort((one, other) => seconds(one) - seconds(other) || ran(one).length - ran(other).length)
  if (!next) return
  console.log(`${next.name}: run ${ran(next).length + 1}, ${seconds(next) || 'no'} seconds known`)
  await ask('POST', 'schedulings', {name: `${ME}-${next.name}`, testBed: testbed, queue: Array(Number(executors)).fill(next.name)})
}

// Changes come faster than decisions are made: what comes meanwhile leads to one more decision, not to many.
let isWanted = false, isBusy = false
async function wake() {
  isWanted = true
  if (isBusy) return
  isBusy = true
  while (isWanted) {
    isWanted = false
    await decide().catch(error => { console.error(String(error)); setTimeout(wake, 1000) })
  }
  isBusy = false
}

const client = new Client({brokerURL: `${door.replace('http', 'ws')}/scheduler`, reconnectDelay: 500, heartbeatIncoming: 5000, heartbeatOutgoing: 5000})
client.onConnect = () => { // whenever it is connected again: subscribe first, then look, and nothing is missed
  for (const topic of [`testbeds/${testbed}`, 'jobs', 'schedulings']) client.subscribe(`/topic/${topic}`, wake)
  wake()
}
client.activate()
process.on('SIGTERM', () => client.deactivate().then(() => process.exit(0)))
