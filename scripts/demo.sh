#!/bin/sh
# Starts the embedded cluster in the background, runs a demo job and says where to look. Called by `make up`.
set -eu
cd "$(dirname "$0")/.."
shunter=.venv/bin/shunter

said=$("$shunter" up --detach)
url=$(echo "$said" | sed -n '1s/.* //p') # the last word of "the cluster is ready at URL"
echo "$said"
echo "A demo: 200 short tasks."
"$shunter" run --name demo --count 200 -- /bin/sh -c 'sleep 0.05; echo "task $SHUNTER_TASK_INDEX of $SHUNTER_TASK_COUNT"'
cat <<END

Where to look ($shunter --help tells the rest):
  $shunter jobs              what was submitted, and how far it is
  $shunter logs demo/7       what task 7 of the demo printed
  $shunter why demo          why a job is in the state that it is in
  $shunter nodes             the machines
  $shunter top               all of it, live
  $shunter run -- echo hi    something of your own
  $url    the same over REST, under /api/v1
  make down                            stop the cluster; nothing is lost
END
