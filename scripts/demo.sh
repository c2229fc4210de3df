#!/bin/sh
# Starts a cluster in the background, runs a demo job, and lists commands to try. Called by `make up`.
set -eu
cd "$(dirname "$0")/.."
shunter=.venv/bin/shunter

said=$("$shunter" up --detach)
url=$(echo "$said" | sed -n '1s/.* //p') # the last word of "the cluster is ready at URL"
echo "$said"
echo "Demo: 200 short tasks."
"$shunter" run --name demo --count 200 -- /bin/sh -c 'sleep 0.05; echo "task $SHUNTER_TASK_INDEX of $SHUNTER_TASK_COUNT"' </dev/null
cat <<END

Commands to try ($shunter --help lists all):
  $shunter jobs            list the jobs
  $shunter logs demo/7     print the output of task 7
  $shunter why demo        explain the state of a job
  $shunter nodes           list the nodes
  $shunter top             watch the cluster
  $shunter run -- echo hi  run your own command
  $shunter ui              open the web UI in a browser
  make down                      stop the cluster; keep its state
The REST API is at $url/api/v1.
END
