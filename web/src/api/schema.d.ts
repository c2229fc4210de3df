/** Generated from the OpenAPI document by `npm run types`. Do not edit. */

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check whether the manager responds and can commit */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get this OpenAPI document */
        get: operations["getOpenApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/cluster": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an overview of the cluster */
        get: operations["getCluster"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change settings of the running cluster */
        patch: operations["patchCluster"];
        trace?: never;
    };
    "/api/v1/cluster/down": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop the manager, or the whole cluster */
        post: operations["stopCluster"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or search jobs, newest first */
        get: operations["listJobs"];
        put?: never;
        /** Submit a job, and optionally follow it */
        post: operations["submitJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bulk/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Submit many jobs, all or none */
        post: operations["submitJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a job */
        get: operations["getJob"];
        /** Update the spec of a service or system job */
        put: operations["updateJob"];
        post?: never;
        /** Stop a job; no effect on a finished job */
        delete: operations["stopJob"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List all runs of a job name, newest first */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain the state of a job */
        get: operations["explainJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/tasks/{index}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain the state of a task */
        get: operations["explainTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Plan a submit: report what would happen, without doing it */
        post: operations["planJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/suggestions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a change that `why` has suggested */
        post: operations["applySuggestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List policies, and the active one */
        get: operations["listPolicies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policies/active": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Change the active policy */
        put: operations["usePolicy"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/follow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow a job as NDJSON until it ends */
        get: operations["followJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tasks of a job, by index */
        get: operations["listTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/tasks/{index}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a task */
        get: operations["getTask"];
        put?: never;
        post?: never;
        /** Stop a task */
        delete: operations["stopTask"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/tasks/{index}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List task attempts */
        get: operations["listAttempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/tasks/{index}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get output of a task, as raw bytes */
        get: operations["readLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Hold a job: stop its tasks from starting */
        post: operations["holdJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Release a held job */
        post: operations["releaseJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a finished job again, or only its failed tasks */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List templates: jobs with schedule or parameters */
        get: operations["listTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates/{template}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a template */
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        /** Delete a template; its runs continue */
        delete: operations["deleteTemplate"];
        options?: never;
        head?: never;
        /** Pause or resume a schedule */
        patch: operations["patchTemplate"];
        trace?: never;
    };
    "/api/v1/templates/{template}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run of a template with parameters */
        post: operations["runTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List queues */
        get: operations["listQueues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{queue}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a queue */
        get: operations["getQueue"];
        put?: never;
        post?: never;
        /** Delete the rules of a queue */
        delete: operations["deleteQueue"];
        options?: never;
        head?: never;
        /** Pause, resume or limit a queue */
        patch: operations["patchQueue"];
        trace?: never;
    };
    "/api/v1/queues/{queue}/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the queued tasks of a queue */
        post: operations["purgeQueue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List dead letters: tasks that failed after their last restart */
        get: operations["listDead"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run the tasks of dead letters again */
        post: operations["replayDead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/dead/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delete dead letters */
        post: operations["purgeDead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List nodes, by name */
        get: operations["listNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a node */
        get: operations["getNode"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change labels and attributes of a node */
        patch: operations["patchNode"];
        trace?: never;
    };
    "/api/v1/nodes/{name}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get current statistics of a node and its tasks */
        get: operations["getNodeStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List events, or stream them */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/scale": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Scale a service */
        post: operations["scaleJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Roll back to an earlier stable version */
        post: operations["rollBackJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/restart": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restart instances */
        post: operations["restartJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/tasks/{index}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a task to a node */
        post: operations["moveTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Drain a node */
        post: operations["drainNode"];
        /** Undrain a node: make it schedulable again */
        delete: operations["undrainNode"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/cordon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cordon a node: stop new tasks from starting on it */
        post: operations["cordonNode"];
        /** Uncordon a node: make it schedulable again */
        delete: operations["uncordonNode"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Release a node from quarantine */
        delete: operations["releaseNode"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Declare that nothing runs on a down node any more */
        post: operations["forgetNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Apply manifests of any kind, all or none */
        post: operations["applyDocuments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/batchjobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch BatchJobs of all namespaces */
        get: operations["listAllBatchJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/batchjobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch BatchJobs of a namespace */
        get: operations["listBatchJobs"];
        put?: never;
        /** Create a BatchJob */
        post: operations["createBatchJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/batchjobs/{object}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a BatchJob */
        get: operations["getBatchJob"];
        /** Create or replace a BatchJob */
        put: operations["replaceBatchJob"];
        post?: never;
        /** Delete a BatchJob; its claims are released first */
        delete: operations["deleteBatchJob"];
        options?: never;
        head?: never;
        /** Change some fields of a BatchJob */
        patch: operations["patchBatchJob"];
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/batchjobs/{object}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain the state of a BatchJob */
        get: operations["explainBatchJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/testbeds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch Testbeds of all namespaces */
        get: operations["listAllTestbeds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/testbeds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch Testbeds of a namespace */
        get: operations["listTestbeds"];
        put?: never;
        /** Create a Testbed */
        post: operations["createTestbed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/testbeds/{object}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a Testbed */
        get: operations["getTestbed"];
        /** Create or replace a Testbed */
        put: operations["replaceTestbed"];
        post?: never;
        /** Delete a Testbed; its claims are released first */
        delete: operations["deleteTestbed"];
        options?: never;
        head?: never;
        /** Change some fields of a Testbed */
        patch: operations["patchTestbed"];
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/testbeds/{object}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain the state of a Testbed */
        get: operations["explainTestbed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/schedulings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch Schedulings of all namespaces */
        get: operations["listAllSchedulings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/schedulings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch Schedulings of a namespace */
        get: operations["listSchedulings"];
        put?: never;
        /** Create a Scheduling */
        post: operations["createScheduling"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/schedulings/{object}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a Scheduling */
        get: operations["getScheduling"];
        /** Create or replace a Scheduling */
        put: operations["replaceScheduling"];
        post?: never;
        /** Delete a Scheduling; its claims are released first */
        delete: operations["deleteScheduling"];
        options?: never;
        head?: never;
        /** Change some fields of a Scheduling */
        patch: operations["patchScheduling"];
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/schedulings/{object}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain the state of a Scheduling */
        get: operations["explainScheduling"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/objects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch objects of all kinds and namespaces */
        get: operations["listAllObjects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/objects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List or watch objects of all kinds in a namespace */
        get: operations["listObjects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/batchjobs/{object}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reset a failed BatchJob to Ready */
        post: operations["resetBatchJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/batchjobs/{object}/external": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Replace some keys of externalScheduler */
        patch: operations["writeExternal"];
        trace?: never;
    };
    "/api/v1/schedulings/past": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List deleted Schedulings, newest first */
        get: operations["listPastSchedulings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedulings/past/{uid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a deleted Scheduling */
        get: operations["getPastScheduling"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/testbeds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List Testbeds and their slots */
        get: operations["listExternalTestbeds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/testbeds/{object}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a Testbed and its slots */
        get: operations["getExternalTestbed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List BatchJobs by name */
        get: operations["listExternalJobs"];
        /** Replace some keys of a BatchJob's externalScheduler */
        put: operations["writeExternalJob"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/jobs/{object}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a BatchJob */
        get: operations["getExternalJob"];
        /** Replace some keys of its externalScheduler */
        put: operations["writeExternalJobByName"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/jobs/{object}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the metrics of a BatchJob run, by node and by slot */
        get: operations["getExternalJobMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/schedulings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Schedulings */
        get: operations["listExternalSchedulings"];
        put?: never;
        /** Create or replace a Scheduling */
        post: operations["postExternalScheduling"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/schedulings/{object}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a Scheduling */
        get: operations["getExternalScheduling"];
        put?: never;
        post?: never;
        /** Delete a Scheduling, stop its jobs and release its slots */
        delete: operations["deleteExternalScheduling"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/external/past-schedulings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List deleted Schedulings, newest first */
        get: operations["listExternalPastSchedulings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/scheduler/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the SockJS connection options, before the WebSocket */
        get: operations["getSockJsInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flight": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the segments of the flight recorder */
        get: operations["listFlight"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flight/records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download all recorded decisions, for `shunter replay` */
        get: operations["exportFlight"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flight/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get recorded decisions as columns over time */
        get: operations["getFlightTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flight/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List recorded decisions, newest first */
        get: operations["listDecisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flight/decisions/{decision}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a recorded decision, and what the policy saw */
        get: operations["getDecision"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flight/decisions/{decision}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let another policy decide on the same input */
        post: operations["replayDecision"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the metrics of this manager, for Prometheus */
        get: operations["scrapeMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apis/{group}/{version}/namespaces/{namespace}/batchjobs/{object}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the metrics of a BatchJob run, by node and by slot */
        get: operations["getBatchJobMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the metrics of a node */
        get: operations["getNodeMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/tasks/{index}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the metrics of a task and its node */
        get: operations["getTaskMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the output of all tasks of a job, as NDJSON */
        get: operations["readJobLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/managers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the managers, and which of them leads */
        get: operations["listManagers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/managers/self": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the manager that answers */
        get: operations["getThisManager"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/managers/self/debug": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get what helps to find a fault of the manager that answers */
        get: operations["debugManager"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/managers/step-down": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let another manager lead */
        post: operations["stepDown"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show who the caller is, and its roles */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List users */
        get: operations["listUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{user}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Create, change or disable a user */
        put: operations["putUser"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List API keys, without their secrets */
        get: operations["listKeys"];
        put?: never;
        /** Create an API key; the answer shows it once */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{key}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an API key another secret; the answer shows it once */
        post: operations["rotateKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke an API key */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign a browser in, with a token or a one-time code; sets a cookie */
        post: operations["createSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Sign out: end the session of this request */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a one-time code that signs a browser in */
        post: operations["createSessionCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show how users sign in, besides with tokens */
        get: operations["getSignInOptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Send a browser to the OpenID Connect issuer to sign in */
        get: operations["beginOidcSignIn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/oidc/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Open the session of a browser that comes back from the issuer */
        get: operations["finishOidcSignIn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the secrets of a namespace, without their values */
        get: operations["listSecrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets/{secret}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Create a secret, or give it another value */
        put: operations["setSecret"];
        post?: never;
        /** Delete a secret */
        delete: operations["deleteSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets-key/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Encrypt all secrets with another key */
        post: operations["rotateSecretsKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/job-counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count jobs by state, queue, user, type or namespace */
        get: operations["countJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find jobs, nodes, templates, queues and objects by name */
        get: operations["search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/task-map": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the states of very many tasks, in cells */
        get: operations["getTaskMap"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/manifest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the manifest of a job, or of an earlier version */
        get: operations["getManifest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the attempts of a job over time */
        get: operations["getTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get what a job used, and what it requested */
        get: operations["getJobUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get what finished jobs used, by user, queue, namespace or tenant */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/analytics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get throughput, waiting times and failures over time */
        get: operations["getAnalytics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/node-map": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get all nodes as columns */
        get: operations["getNodeMap"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{name}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tasks on a node */
        get: operations["listNodeTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tenants */
        get: operations["listTenants"];
        put?: never;
        /** Create a tenant, with a namespace and a queue of its own name */
        post: operations["createTenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a tenant: what it owns, its quotas and their use */
        get: operations["getTenant"];
        put?: never;
        post?: never;
        /** Delete a tenant that has nothing left */
        delete: operations["deleteTenant"];
        options?: never;
        head?: never;
        /** Change what a tenant owns, or its quotas */
        patch: operations["patchTenant"];
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the records of the audit log, the newest first */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/lines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get lines of the audit log in order, to check their hashes */
        get: operations["exportAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/refused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** For managers: record requests that this one refused */
        post: operations["reportRefused"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/join-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List join tokens, without their secrets */
        get: operations["listJoinTokens"];
        put?: never;
        /** Create a join token, with which one worker can enrol; the answer shows it once */
        post: operations["createJoinToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/join-tokens/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a join token */
        delete: operations["revokeJoinToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/enrolments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign the certificate of a worker that has a join token */
        post: operations["enrolWorker"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * ProblemDocument
         * @description Why a request failed. `problems` lists everything that is wrong with the input.
         */
        ProblemDocument: {
            type: string;
            title: string;
            status: number;
            detail: string;
            problems: components["schemas"]["ProblemItem"][];
        };
        /**
         * ProblemItem
         * @description One problem: the field, what is wrong, the value found, and how to fix it.
         */
        ProblemItem: {
            field: string;
            message: string;
            /** @default null */
            value: string | number | boolean | null;
            /** @default null */
            fix: string | null;
        };
        /** Status */
        Status: {
            status: string;
        };
        /** ClusterInfo */
        ClusterInfo: {
            name: string;
            version: string;
            state_version: number;
            epoch: number;
            policy: string;
            heartbeat_s: number;
            started_at: string;
            simulated: boolean;
            nodes: {
                [key: string]: number;
            };
            jobs: {
                [key: string]: number;
            };
            tasks: {
                [key: string]: number;
            };
            capacity: {
                [key: string]: string;
            };
            reserved: {
                [key: string]: string;
            };
            /** @default {} */
            licences: {
                [key: string]: components["schemas"]["LicenceView"];
            };
            /** @default auto */
            preemption: string;
            /** @default auto */
            reserve_after: string;
            /** @default auto */
            hold_after: string;
            /** @default  */
            fallback: string;
            /** @default auto */
            lease: string;
            /** @default on */
            flight: string;
        };
        /** LicenceView */
        LicenceView: {
            total: number;
            used: number;
        };
        /**
         * StoppingView
         * @description The answer to a request to stop.
         */
        StoppingView: {
            status: string;
            /** @default [] */
            not_stopped: string[];
        };
        /**
         * Down
         * @description Stops the manager and its own worker; with `cluster`, first all other workers and managers.
         */
        Down: {
            /** @default false */
            leave_running: boolean;
            /** @default false */
            cluster: boolean;
        };
        /** JobView */
        JobView: {
            name: string;
            namespace: string;
            id: number;
            run: number;
            state: string;
            type: string;
            count: number;
            counts: {
                [key: string]: number;
            };
            priority: number;
            submitted_at: string;
            /** @default null */
            started_at: string | null;
            /** @default null */
            ended_at: string | null;
            /** @default null */
            reason: string | null;
            /** @default {} */
            labels: {
                [key: string]: string;
            };
            /** @default  */
            user: string;
            /** @default [] */
            command: string[];
            /** @default null */
            image: string | null;
            /** @default {} */
            resources: {
                [key: string]: string;
            };
            /** @default [] */
            groups: components["schemas"]["GroupView"][];
            /** @default null */
            terms: components["schemas"]["JobTerms"] | null;
            /** @default 1 */
            version: number;
            /** @default null */
            update: components["schemas"]["UpdateView"] | null;
            /** @default null */
            exit_code: number | null;
        };
        /** GroupView */
        GroupView: {
            name: string;
            count: number;
            counts: {
                [key: string]: number;
            };
            /** @default [] */
            command: string[];
            /** @default null */
            image: string | null;
            /** @default {} */
            resources: {
                [key: string]: string;
            };
            /** @default [] */
            after: components["schemas"]["EdgeView"][];
        };
        /**
         * EdgeView
         * @description A dependency of a job or a group, met or not.
         */
        EdgeView: {
            name: string;
            when: string;
            otherwise: string;
            open: boolean;
            /** @default null */
            outcome: string | null;
        };
        /**
         * JobTerms
         * @description Terms of a job that are not defaults: start time, deadline, dependencies.
         */
        JobTerms: {
            /** @default default */
            queue: string;
            /** @default false */
            held: boolean;
            /** @default null */
            start_at: string | null;
            /** @default null */
            deadline: string | null;
            /** @default false */
            deadline_missed: boolean;
            /** @default null */
            timeout_s: number | null;
            /** @default null */
            failures_max: number | null;
            /** @default [] */
            waits_for: string[];
            /** @default [] */
            after: components["schemas"]["EdgeView"][];
        };
        /**
         * UpdateView
         * @description Progress of the rollout of a service or system job.
         */
        UpdateView: {
            status: string;
            wanted: number;
            updated: number;
            healthy: number;
            /** @default null */
            reason: string | null;
            /** @default null */
            began_at: string | null;
            /** @default null */
            good_version: number | null;
            /** @default 0 */
            leaving: number;
        };
        /**
         * FollowLine
         * @description One line of a followed job: exactly one of job (first), progress, log, end (last; with the only task's code).
         *         `output_error`, with `end`: why output is missing that was to be followed. `version`: of the state that it shows;
         *         lines of output have none.
         */
        FollowLine: {
            /** @default null */
            job: components["schemas"]["JobView"] | null;
            /** @default null */
            progress: components["schemas"]["ProgressView"] | null;
            /** @default null */
            log: components["schemas"]["LogView"] | null;
            /** @default null */
            end: components["schemas"]["JobView"] | null;
            /** @default null */
            exit_code: number | null;
            /** @default null */
            output_error: string | null;
            /** @default null */
            version: number | null;
        };
        /** ProgressView */
        ProgressView: {
            state: string;
            counts: {
                [key: string]: number;
            };
        };
        /** LogView */
        LogView: {
            stream: string;
            data: string;
        };
        /** SubmittedJobs */
        SubmittedJobs: {
            items: components["schemas"]["SubmittedJob"][];
        };
        /**
         * SubmittedJob
         * @description The result of one submitted job. Not created: the same key, or an unchanged job, already exists; or, if
         *         updated, a service or system job has a new spec.
         */
        SubmittedJob: {
            name: string;
            namespace: string;
            id: number;
            run: number;
            created: boolean;
            /** @default false */
            updated: boolean;
            /** @default null */
            state: string | null;
            /** @default null */
            count: number | null;
        };
        /** JobPage */
        JobPage: {
            items: components["schemas"]["JobView"][];
            next: string | null;
            total: number;
            /** @default false */
            partial: boolean;
        };
        /** WhyView */
        WhyView: {
            name: string;
            state: string;
            sentence: string;
            counts: {
                [key: string]: number;
            };
            /** @default [] */
            reasons: components["schemas"]["ReasonView"][];
            /** @default [] */
            suggestions: components["schemas"]["SuggestionView"][];
            /** @default null */
            start: components["schemas"]["StartView"] | null;
        };
        /** ReasonView */
        ReasonView: {
            text: string;
            nodes: number;
            /** @default [] */
            examples: string[];
        };
        /**
         * SuggestionView
         * @description One change that would start the job now, verified by the planner. `field` is in the manifest, or names the object
         *         outside of it that has to change (`node.NAME.cordon`, `queue.NAME.running_max`).
         */
        SuggestionView: {
            field: string;
            before: unknown;
            after: unknown;
            text: string;
            /** @default 0 */
            nodes: number;
            /** @default 0 */
            starts: number;
            /** @default 0 */
            preempts: number;
        };
        /**
         * StartView
         * @description When the next task is expected to start; null if unknown. `basis` explains the estimate.
         */
        StartView: {
            at: string | null;
            basis: string;
        };
        /**
         * PlanView
         * @description What a submit of these jobs, or an apply of these objects, would do now. Nothing has changed.
         */
        PlanView: {
            starts: boolean;
            sentence: string;
            state_version: number;
            policy: string;
            jobs: components["schemas"]["PlannedJobView"][];
            /** @default [] */
            preemptions: components["schemas"]["PlannedPreemptionView"][];
            /** @default [] */
            objects: components["schemas"]["PlannedObjectView"][];
        };
        /**
         * PlannedJobView
         * @description What would happen to one job of a plan.
         */
        PlannedJobView: {
            name: string;
            namespace: string;
            verdict: string;
            sentence: string;
            count: number;
            starts: number;
            waits: number;
            /** @default [] */
            placements: components["schemas"]["PlannedPlacementView"][];
            /** @default [] */
            reasons: components["schemas"]["ReasonView"][];
            /** @default 0 */
            stops: number;
            /** @default 0 */
            replaces: number;
        };
        /** PlannedPlacementView */
        PlannedPlacementView: {
            node: string;
            count: number;
            /** @default main */
            group: string;
        };
        /** PlannedPreemptionView */
        PlannedPreemptionView: {
            name: string;
            namespace: string;
            node: string;
            count: number;
        };
        /**
         * PlannedObjectView
         * @description What would happen to one Testbed, BatchJob or Scheduling of a plan.
         */
        PlannedObjectView: {
            kind: string;
            name: string;
            namespace: string;
            action: string;
            verdict: string;
            state: string;
            sentence: string;
            /** @default [] */
            reasons: components["schemas"]["ReasonView"][];
        };
        /**
         * SuggestionChoice
         * @description A suggestion of `why`, as it was: what else it has may be left out.
         */
        SuggestionChoice: {
            field: string;
            before: unknown;
            after: unknown;
        };
        /** PolicyPage */
        PolicyPage: {
            items: components["schemas"]["PolicyView"][];
            next: string | null;
            total: number;
        };
        /** PolicyView */
        PolicyView: {
            name: string;
            kind: string;
            source: string;
            active: boolean;
            /** @default null */
            error: string | null;
            /** @default 0 */
            failures: number;
            /** @default null */
            state: string | null;
            /** @default 0 */
            refusals: number;
            /** @default null */
            last_refusal: string | null;
        };
        /** PolicyChoice */
        PolicyChoice: {
            name: string;
        };
        /** TaskPage */
        TaskPage: {
            items: components["schemas"]["TaskView"][];
            next: string | null;
            total: number;
        };
        /** TaskView */
        TaskView: {
            name: string;
            index: number;
            state: string;
            attempt: number;
            /** @default main */
            group: string;
            /** @default null */
            array_index: number | null;
            /** @default null */
            entry: string | null;
            /** @default {} */
            ports: {
                [key: string]: number;
            };
            /** @default null */
            healthy: boolean | null;
            /** @default null */
            node: string | null;
            /** @default null */
            exit_code: number | null;
            /** @default null */
            started_at: string | null;
            /** @default null */
            ended_at: string | null;
            /** @default null */
            reason: string | null;
            /** @default 0 */
            restarts: number;
            /** @default 0 */
            lost: number;
            /** @default null */
            current: boolean | null;
        };
        /** AttemptPage */
        AttemptPage: {
            items: components["schemas"]["AttemptView"][];
            next: string | null;
            total: number;
        };
        /** AttemptView */
        AttemptView: {
            name: string;
            index: number;
            attempt: number;
            state: string;
            /** @default null */
            node: string | null;
            /** @default null */
            exit_code: number | null;
            /** @default null */
            started_at: string | null;
            /** @default null */
            ended_at: string | null;
            /** @default null */
            reason: string | null;
        };
        /** TemplatePage */
        TemplatePage: {
            items: components["schemas"]["TemplateView"][];
            next: string | null;
            total: number;
        };
        /**
         * TemplateView
         * @description A job with a schedule or parameters, which starts runs by schedule or dispatch.
         */
        TemplateView: {
            name: string;
            namespace: string;
            id: number;
            state: string;
            type: string;
            count: number;
            command: string[];
            user: string;
            labels: {
                [key: string]: string;
            };
            set_at: string;
            /** @default null */
            cron: string | null;
            /** @default null */
            timezone: string | null;
            /** @default null */
            overlap: string | null;
            /** @default null */
            catch_up: string | null;
            /** @default null */
            next_at: string | null;
            /** @default [] */
            required: string[];
            /** @default {} */
            optional: {
                [key: string]: string;
            };
            /** @default null */
            payload: string | null;
            /** @default null */
            last_run: number | null;
            /** @default null */
            last_state: string | null;
            /** @default 0 */
            unfinished: number;
            /** @default null */
            skipped_at: string | null;
            /** @default null */
            skipped_because: string | null;
        };
        /** TemplatePatch */
        TemplatePatch: {
            paused: boolean;
        };
        /**
         * DispatchBody
         * @description A payload is base64 in JSON.
         */
        DispatchBody: {
            /** @default {} */
            parameters: {
                [key: string]: string;
            };
            /** @default null */
            payload: string | null;
        };
        /** QueuePage */
        QueuePage: {
            items: components["schemas"]["QueueView"][];
            next: string | null;
            total: number;
        };
        /**
         * QueueView
         * @description A queue. A limit of null means no limit.
         */
        QueueView: {
            name: string;
            queued: number;
            running: number;
            paused: boolean;
            strict: boolean;
            /** @default null */
            running_max: number | null;
            /** @default null */
            queued_max: number | null;
        };
        /** Purged */
        Purged: {
            count: number;
        };
        /** DeadPage */
        DeadPage: {
            items: components["schemas"]["DeadView"][];
            next: string | null;
            total: number;
        };
        /**
         * DeadView
         * @description A task that failed after its last restart.
         */
        DeadView: {
            name: string;
            number: number;
            namespace: string;
            job: string;
            run: number;
            group: string;
            index: number;
            exit_code: number | null;
            reason: string;
            at: string;
        };
        /**
         * Replayed
         * @description The runs that a replay started; `left` counts letters of jobs that have not ended or are no longer in history.
         */
        Replayed: {
            items: components["schemas"]["SubmittedJob"][];
            /** @default 0 */
            left: number;
        };
        /** NodePage */
        NodePage: {
            items: components["schemas"]["NodeView"][];
            next: string | null;
            total: number;
        };
        /** NodeView */
        NodeView: {
            name: string;
            id: number;
            state: string;
            eligible: boolean;
            reason: string | null;
            datacenter: string;
            labels: {
                [key: string]: string;
            };
            attributes: {
                [key: string]: string;
            };
            capacity: {
                [key: string]: string;
            };
            reserved: {
                [key: string]: string;
            };
            tasks: number;
            /** @default worker */
            role: string;
            /** @default none */
            isolation: string;
            /** @default null */
            heard_at: string | null;
            /** @default null */
            stats: Record<string, never> | null;
            /** @default false */
            stats_stale: boolean;
        };
        /**
         * NodeStatsView
         * @description Current statistics of a node and its running tasks, read from the worker.
         */
        NodeStatsView: {
            name: string;
            at: string;
            machine: Record<string, never>;
            tasks: components["schemas"]["TaskStatsView"][];
        };
        /** TaskStatsView */
        TaskStatsView: {
            name: string;
            namespace: string;
            index: number;
            attempt: number;
            cpu_s: number;
            memory_bytes: number;
            processes: number;
        };
        /** EventPage */
        EventPage: {
            items: components["schemas"]["EventView"][];
            next: string | null;
            total: number;
        };
        /**
         * EventView
         * @description One event: one per range of tasks and transition, not per task. `id` orders all events and resumes a stream.
         */
        EventView: {
            id: string;
            at: string;
            type: string;
            name: string;
            /** @default null */
            namespace: string | null;
            /** @default null */
            job: string | null;
            /** @default null */
            group: string | null;
            /** @default null */
            tasks: string | null;
            /** @default null */
            node: string | null;
            /** @default null */
            attempt: number | null;
            /** @default null */
            state: string | null;
            /** @default null */
            exit_code: number | null;
            /** @default null */
            reason: string | null;
            /** @default null */
            run: number | null;
        };
        /**
         * Scale
         * @description New counts by group name; "" names the only group.
         */
        Scale: {
            counts: {
                [key: string]: number;
            };
        };
        /**
         * Restart
         * @description All instances, or one.
         */
        Restart: {
            /** @default null */
            index: number | null;
            /** @default null */
            group: string | null;
        };
        /** Move */
        Move: {
            node: string;
        };
        /** Cordon */
        Cordon: {
            /** @default  */
            reason: string;
        };
        /** AppliedPage */
        AppliedPage: {
            items: components["schemas"]["AppliedView"][];
        };
        /**
         * AppliedView
         * @description The result of one document: an object, or, for a Job, the submitted run.
         */
        AppliedView: {
            kind: string;
            namespace: string;
            name: string;
            action: string;
            /** @default null */
            object: components["schemas"]["ObjectView"] | null;
            /** @default null */
            job: components["schemas"]["SubmittedJob"] | null;
        };
        /**
         * ObjectView
         * @description One object, as its manifest with its status.
         */
        ObjectView: {
            apiVersion: string;
            kind: string;
            metadata: Record<string, never>;
            spec: Record<string, never>;
            /** @default {} */
            status: Record<string, never>;
        };
        /**
         * ObjectList
         * @description The requested objects, by namespace and name.
         */
        ObjectList: {
            apiVersion: string;
            kind: string;
            metadata: components["schemas"]["ListMeta"];
            items: components["schemas"]["ObjectView"][];
            /** @default null */
            next: string | null;
            total: number;
        };
        /** ListMeta */
        ListMeta: {
            resourceVersion: string;
        };
        /** WatchLine */
        WatchLine: {
            type: string;
            object: components["schemas"]["ObjectView"];
            /** @default false */
            more: boolean;
        };
        /** PastPage */
        PastPage: {
            items: components["schemas"]["PastSchedulingView"][];
            next: string | null;
            total: number;
        };
        /** PastSchedulingView */
        PastSchedulingView: {
            uid: string;
            name: string;
            namespace: string;
            testbed: components["schemas"]["NameView"];
            mode: string;
            user: string;
            state: string;
            problems: string[];
            created_at: string | null;
            deleted_at: string | null;
            runs: components["schemas"]["PastRunView"][];
        };
        /** NameView */
        NameView: {
            name: string;
            namespace: string;
        };
        /** PastRunView */
        PastRunView: {
            name: string;
            namespace: string;
            slot_ids: number[];
            nodes: string[];
            start: string | null;
            stop: string | null;
            successful: boolean | null;
            /** @default null */
            reason: string | null;
        };
        /**
         * ExternalTestbed
         * @description Slots as in the status of a Testbed, by node name; nodes in the order of their ids.
         */
        ExternalTestbed: {
            name: string;
            state: string;
            numberOfNodes: number;
            numberOfSlotsPerNode: number;
            slotsByNode: {
                [key: string]: Record<string, never>[];
            };
        };
        /**
         * ExternalBatchJob
         * @description A failed job has `problems`, which say why.
         */
        ExternalBatchJob: {
            name: string;
            state: string;
            externalScheduler: {
                [key: string]: {
                    [key: string]: string;
                }[];
            };
            scheduledEvents: Record<string, never>[];
            /** @default [] */
            problems: string[];
        };
        /** MetricsView */
        MetricsView: {
            name: string;
            start: string;
            stop: string;
            step_s: number;
            /** @default null */
            namespace: string | null;
            /** @default null */
            run: number | null;
            /** @default [] */
            nodes: components["schemas"]["MeasuredView"][];
            /** @default [] */
            tasks: components["schemas"]["MeasuredView"][];
        };
        /**
         * MeasuredView
         * @description A node, or a task and its slot. Without samples, `metrics` is empty.
         */
        MeasuredView: {
            name: string;
            /** @default null */
            node: string | null;
            /** @default null */
            slot: number | null;
            /** @default {} */
            metrics: {
                [key: string]: components["schemas"]["MetricView"];
            };
        };
        /**
         * MetricView
         * @description `values` has a mean for each step from the window's start; null where there was no sample. `max` is that of
         *         single samples, or of what they were reduced to.
         */
        MetricView: {
            mean: number;
            max: number;
            values: (number | null)[];
        };
        /**
         * ExternalScheduling
         * @description Has either a queue or slots; the other is null. `waitsFor` and `problems` are set only where they apply.
         */
        ExternalScheduling: {
            name: string;
            state: string;
            jobStatus: components["schemas"]["ExternalJobStatus"][];
            testBed: string;
            queue: string[] | null;
            slots: components["schemas"]["ExternalSlots"] | null;
            /** @default  */
            waitsFor: string;
            /** @default [] */
            problems: string[];
        };
        /** ExternalJobStatus */
        ExternalJobStatus: {
            name: string;
            state: string;
        };
        /** ExternalSlots */
        ExternalSlots: {
            mode: string;
            jobs: components["schemas"]["ExternalSlotJob"][];
        };
        /** ExternalSlotJob */
        ExternalSlotJob: {
            name: string;
            slots: number[];
        };
        /** FlightPage */
        FlightPage: {
            items: components["schemas"]["FlightSegment"][];
            next: string | null;
            total: number;
        };
        /**
         * FlightSegment
         * @description One file of a flight recording.
         */
        FlightSegment: {
            name: string;
            started_at: string;
            ended_at: string;
            decisions: number;
            bytes: number;
        };
        /**
         * FlightTimeline
         * @description Decisions as columns, in the order in which they were made. `policies` are positions in `policy_names`.
         */
        FlightTimeline: {
            ids: string[];
            at_ms: number[];
            placed: number[];
            preempted: number[];
            left: number[];
            failed: boolean[];
            policies: number[];
            policy_names: string[];
            /** @default [] */
            periods: components["schemas"]["PolicyPeriod"][];
            /** @default [] */
            shadows: components["schemas"]["ShadowAgreement"][];
            /** @default false */
            truncated: boolean;
        };
        /**
         * PolicyPeriod
         * @description Decisions of one policy, between two others. `nodes`: how many of them it placed tasks on.
         */
        PolicyPeriod: {
            policy: string;
            start: string;
            stop: string;
            decisions: number;
            placed: number;
            preempted: number;
            failed: number;
            nodes: number;
        };
        /** ShadowAgreement */
        ShadowAgreement: {
            name: string;
            compared: number;
            agreed: number;
            /** @default [] */
            differed_ms: number[];
        };
        /** DecisionPage */
        DecisionPage: {
            items: components["schemas"]["DecisionView"][];
            next: string | null;
            total: number;
        };
        /** DecisionView */
        DecisionView: {
            id: string;
            at: string;
            source: string;
            policy: string;
            version: number;
            placed: number;
            preempted: number;
            schedulings: number;
            left: number;
            /** @default [] */
            reasons: string[];
            /** @default [] */
            items: components["schemas"]["DecisionItem"][];
            /** @default false */
            truncated: boolean;
            /** @default null */
            error: string | null;
        };
        /**
         * DecisionItem
         * @description Tasks of one class that were placed on a node, or preempted there.
         */
        DecisionItem: {
            node: string;
            count: number;
            class_id: number;
            /** @default null */
            who: string | null;
            /** @default false */
            preempted: boolean;
        };
        /**
         * DecisionDetail
         * @description What the policy saw when it decided, and what it decided. The classes that the decision is about come first.
         */
        DecisionDetail: {
            decision: components["schemas"]["DecisionView"];
            nodes: number;
            eligible: number;
            resources: components["schemas"]["SeenResource"][];
            queued_tasks: number;
            queued_classes: number;
            budget: number;
            classes: components["schemas"]["SeenClass"][];
            /** @default false */
            truncated: boolean;
        };
        /**
         * SeenResource
         * @description A resource, summed over all nodes that took work at that moment.
         */
        SeenResource: {
            name: string;
            capacity: string;
            reserved: string;
        };
        /**
         * SeenClass
         * @description Tasks that waited, and what the decision made of them. `name` is known where the policy gave a reason.
         */
        SeenClass: {
            class_id: number;
            name: string | null;
            namespace: string;
            user: string;
            queue: string;
            priority: number;
            needs: {
                [key: string]: string;
            };
            /** @default [] */
            constraints: string[];
            queued: number;
            waited_s: number;
            placed: number;
            /** @default null */
            reason: string | null;
        };
        /**
         * DecisionReplay
         * @description What another policy decides on the same input, and how far it agrees over the decisions of the same segment.
         *         `missing`: questions of the policy to which the recording has no answer.
         */
        DecisionReplay: {
            id: string;
            policy: string;
            same: boolean;
            recorded: components["schemas"]["DecisionItem"][];
            replayed: components["schemas"]["DecisionItem"][];
            /** @default false */
            truncated: boolean;
            left: number;
            /** @default [] */
            reasons: string[];
            missing: number;
            compared: number;
            equal: number;
            /** @default [] */
            different: string[];
        };
        /** ReplayChoice */
        ReplayChoice: {
            policy: string;
        };
        /**
         * JobLogLine
         * @description One line of the stream: either `log`, or `end` (last). Without `end`, the stream was cut short. `version`, with
         *         `end`: of the state at that moment.
         */
        JobLogLine: {
            /** @default null */
            log: components["schemas"]["TaskLogView"] | null;
            /** @default null */
            end: components["schemas"]["JobLogEnd"] | null;
            /** @default null */
            version: number | null;
        };
        /**
         * TaskLogView
         * @description Whole lines of one stream of one attempt; a very long line comes in pieces.
         */
        TaskLogView: {
            task: string;
            group: string;
            index: number;
            attempt: number;
            stream: string;
            offset: number;
            next: number;
            data: string;
        };
        /** JobLogEnd */
        JobLogEnd: {
            tasks: number;
            /** @default [] */
            left_out: components["schemas"]["LogGap"][];
            /** @default [] */
            missing: components["schemas"]["LogGap"][];
        };
        /**
         * LogGap
         * @description Tasks of which output is not there, and why.
         */
        LogGap: {
            reason: string;
            tasks: number;
            names: string[];
        };
        /** ManagerPage */
        ManagerPage: {
            items: components["schemas"]["ManagerView"][];
            next: string | null;
            total: number;
        };
        /** ManagerView */
        ManagerView: {
            name: string;
            role: string;
            url: string;
            version: string;
            /** @default null */
            state_version: number | null;
            /** @default null */
            lag_s: number | null;
            roles?: string[];
            /** @default null */
            workers: number | null;
        };
        /** DebugView */
        DebugView: {
            name: string;
            version: string;
            python: string;
            metrics: string;
            rounds: components["schemas"]["RoundView"][];
            stalls: components["schemas"]["StallView"][];
            profile: string;
        };
        /** RoundView */
        RoundView: {
            at: string;
            version: number;
            commands: number;
            changes: number;
            size_bytes: number;
            duration_s: number;
            commit_s: number;
        };
        /**
         * StallView
         * @description The event loop ran nothing else for so long.
         */
        StallView: {
            at: string;
            duration_s: number;
        };
        /** SteppingDown */
        SteppingDown: {
            status: string;
        };
        /**
         * MeView
         * @description Who the caller is to the cluster, and what it sees.
         */
        MeView: {
            user: string;
            roles: string[];
            /** @default null */
            cluster: components["schemas"]["ReachedCluster"] | null;
            /** @default null */
            key: string | null;
            /** @default null */
            expires_at: string | null;
            /** @default null */
            tenant: string | null;
            /** @default default */
            namespace: string;
            /** @default null */
            namespaces: string[] | null;
            /** @default [] */
            testbeds: string[];
            /** @default null */
            queue: string | null;
            /** @default null */
            authority: string | null;
        };
        /**
         * ReachedCluster
         * @description What every page of the web UI says about the cluster.
         */
        ReachedCluster: {
            name: string;
            policy: string;
            simulated: boolean;
        };
        /** UserPage */
        UserPage: {
            items: components["schemas"]["UserView"][];
            next: string | null;
            total: number;
        };
        /** UserView */
        UserView: {
            name: string;
            roles: string[];
            disabled: boolean;
            created_at: string;
            /** @default null */
            tenant: string | null;
        };
        /** KeyPage */
        KeyPage: {
            items: components["schemas"]["KeyView"][];
            next: string | null;
            total: number;
        };
        /** KeyView */
        KeyView: {
            id: string;
            user: string;
            roles: string[];
            note: string;
            created_at: string;
            /** @default null */
            expires_at: string | null;
            /** @default null */
            last_used_at: string | null;
            /** @default null */
            old_secret_until: string | null;
            /** @default null */
            tenant: string | null;
            /** @default [] */
            testbeds: string[];
            /** @default null */
            namespace: string | null;
            /** @default null */
            queue: string | null;
        };
        /**
         * NewKeyView
         * @description The only answer that contains the key itself.
         */
        NewKeyView: {
            id: string;
            user: string;
            roles: string[];
            note: string;
            created_at: string;
            /** @default null */
            expires_at: string | null;
            /** @default null */
            last_used_at: string | null;
            /** @default null */
            old_secret_until: string | null;
            /** @default null */
            tenant: string | null;
            /** @default [] */
            testbeds: string[];
            /** @default null */
            namespace: string | null;
            /** @default null */
            queue: string | null;
            key: string;
        };
        /**
         * SessionView
         * @description A session of a browser. The session itself is in a cookie.
         */
        SessionView: {
            user: string;
            expires_at: string;
        };
        /**
         * SessionOpen
         * @description Without a code, the header Authorization says who signs in.
         */
        SessionOpen: {
            /** @default null */
            code: string | null;
        };
        /**
         * SessionCodeView
         * @description The only answer that contains the code.
         */
        SessionCodeView: {
            code: string;
            expires_at: string;
            /** @default false */
            has_ui: boolean;
        };
        /**
         * SignInOptionsView
         * @description How users sign in, besides with tokens and keys.
         */
        SignInOptionsView: {
            /** @default null */
            oidc: components["schemas"]["OidcView"] | null;
        };
        /**
         * OidcView
         * @description What a client needs to sign a user in at the issuer.
         */
        OidcView: {
            issuer: string;
            client_id: string;
            audiences: string[];
            scopes: string[];
        };
        /** SecretPage */
        SecretPage: {
            items: components["schemas"]["SecretView"][];
            next: string | null;
            total: number;
        };
        /** SecretView */
        SecretView: {
            namespace: string;
            name: string;
            version: number;
            key: string;
            set_by: string;
            created_at: string;
            updated_at: string;
        };
        /** KeyRotation */
        KeyRotation: {
            key: string;
            resealed: number;
            added: boolean;
        };
        /**
         * JobCounts
         * @description The largest group first.
         */
        JobCounts: {
            group_by: string;
            items: components["schemas"]["JobCount"][];
            with_finished: boolean;
        };
        /** JobCount */
        JobCount: {
            key: string;
            jobs: number;
            /** @default {} */
            tasks: {
                [key: string]: number;
            };
        };
        /**
         * SearchPage
         * @description The best matches first. `partial`: not all names of ended jobs were looked at.
         */
        SearchPage: {
            items: components["schemas"]["SearchHit"][];
            /** @default false */
            partial: boolean;
        };
        /** SearchHit */
        SearchHit: {
            kind: string;
            name: string;
            /** @default null */
            namespace: string | null;
            /** @default null */
            state: string | null;
        };
        /**
         * TaskMap
         * @description The states of a group's tasks, in cells of neighbours. `counts` has a column for each state that occurs.
         */
        TaskMap: {
            name: string;
            group: string;
            groups: string[];
            total: number;
            first: number;
            last: number;
            starts: number[];
            sizes: number[];
            counts: {
                [key: string]: number[];
            };
            /** @default [] */
            failures: components["schemas"]["FailureCount"][];
            /** @default 0 */
            state_version: number;
        };
        /** FailureCount */
        FailureCount: {
            exit_code: number | null;
            tasks: number;
            first: number;
            /** @default null */
            reason: string | null;
        };
        /**
         * JobManifest
         * @description The manifest of a job, with the fields that are not defaults. `exact`: a submit of it would be the same job.
         *         `masked`: the values of its environment are hidden from who may only read.
         */
        JobManifest: {
            name: string;
            namespace: string;
            version: number;
            versions: number[];
            manifest: Record<string, never>;
            exact: boolean;
            /** @default false */
            masked: boolean;
        };
        /**
         * Timeline
         * @description The attempts of a job over time. `running` has how many ran in each step. The columns below have single
         *         attempts: what failed first, then the longest; `total` says how many there are.
         */
        Timeline: {
            name: string;
            start: string | null;
            stop: string | null;
            step_s: number;
            running: number[];
            total: number;
            /** @default [] */
            indexes: number[];
            /** @default [] */
            groups: string[];
            /** @default [] */
            attempts: number[];
            /** @default [] */
            nodes: string[];
            /** @default [] */
            states: string[];
            /** @default [] */
            started_ms: number[];
            /** @default [] */
            ended_ms: (number | null)[];
        };
        /** JobUsageView */
        JobUsageView: {
            name: string;
            namespace: string;
            id: number;
            run: number;
            state: string;
            user: string;
            groups: components["schemas"]["GroupUsageView"][];
        };
        /**
         * GroupUsageView
         * @description The usage of the attempts of a group that have ended and were measured. Sums are over all of them, `max` is that of one
         *         attempt. Fields are null where nothing was measured.
         */
        GroupUsageView: {
            name: string;
            tasks: number;
            attempts: number;
            /** @default {} */
            requested: {
                [key: string]: string;
            };
            /** @default {} */
            suggested: {
                [key: string]: string;
            };
            /** @default 0 */
            run_s: number;
            /** @default 0 */
            run_max_s: number;
            /** @default 0 */
            cpu_s: number;
            /** @default null */
            cores_mean: number | null;
            /** @default null */
            cores_max: number | null;
            /** @default null */
            memory_p95_bytes: number | null;
            /** @default null */
            memory_max_bytes: number | null;
            /** @default 0 */
            read_bytes: number;
            /** @default 0 */
            written_bytes: number;
        };
        /**
         * UsageSums
         * @description Most CPU time first. `partial`: only the newest of very many jobs were counted.
         */
        UsageSums: {
            by: string;
            since: string;
            items: components["schemas"]["UsageSum"][];
            /** @default false */
            partial: boolean;
        };
        /**
         * UsageSum
         * @description The usage of the finished jobs of one user, queue, namespace or tenant.
         */
        UsageSum: {
            key: string;
            /** @default 0 */
            jobs: number;
            /** @default 0 */
            measured_jobs: number;
            /** @default 0 */
            attempts: number;
            /** @default 0 */
            run_s: number;
            /** @default 0 */
            cpu_s: number;
            /** @default 0 */
            cpu_requested_s: number;
            /** @default 0 */
            memory_max_bytes: number;
            /** @default 0 */
            read_bytes: number;
            /** @default 0 */
            written_bytes: number;
        };
        /**
         * Analytics
         * @description Jobs that ended in a window of time. Series have a value for each step. `partial`: there were more jobs than one
         *         answer looks at, so that only the newest are counted. Percentiles are right within an eighth.
         */
        Analytics: {
            start: string;
            stop: string;
            step_s: number;
            jobs: number;
            succeeded: number[];
            failed: number[];
            cancelled: number[];
            tasks: number[];
            wait_p50_s: (number | null)[];
            wait_p95_s: (number | null)[];
            run_p50_s: (number | null)[];
            run_p95_s: (number | null)[];
            wait: components["schemas"]["Distribution"];
            run: components["schemas"]["Distribution"];
            users: components["schemas"]["Share"][];
            namespaces: components["schemas"]["Share"][];
            failures: components["schemas"]["Share"][];
            /** @default [] */
            nodes: components["schemas"]["Share"][];
            /** @default [] */
            deadlines: number[];
            deadlines_missed: number;
            /** @default null */
            cluster: components["schemas"]["ClusterSeries"] | null;
            partial: boolean;
            /** @default null */
            rollups_from: string | null;
        };
        /**
         * Distribution
         * @description The distribution of all values in the window, in seconds; null without values. `buckets[i]` counts values below `bounds[i]` that are
         *         not below the bound before; the last one has the rest.
         */
        Distribution: {
            p50: number | null;
            p95: number | null;
            max: number | null;
            bounds: number[];
            buckets: number[];
        };
        /**
         * Share
         * @description The share of a user, a namespace, a reason of failures, or a node with failures, largest first. A node has no jobs, and
         *         its tasks are failed attempts of failed jobs.
         */
        Share: {
            key: string;
            jobs: number;
            tasks: number;
            failed: number;
        };
        /**
         * ClusterSeries
         * @description Means of each step, from samples; null without any. The first four are shares of the capacity of nodes that took
         *         work: `stranded` is what was free of the cpus while tasks waited.
         */
        ClusterSeries: {
            cpu: (number | null)[];
            memory: (number | null)[];
            busy: (number | null)[];
            stranded: (number | null)[];
            running: (number | null)[];
            waiting: (number | null)[];
        };
        /**
         * NodeMap
         * @description All nodes as columns, by name. Shares are thousandths of the capacity. `states` and `groups` are positions in
         *         `state_names` and `group_names`.
         */
        NodeMap: {
            names: string[];
            states: number[];
            state_names: string[];
            groups: number[];
            group_names: string[];
            eligible: boolean[];
            tasks: number[];
            cpu: number[];
            memory: number[];
            disk: number[];
            busy: number[];
            /** @default {} */
            reasons: {
                [key: string]: string;
            };
            /** @default 0 */
            state_version: number;
        };
        /** NodeTaskPage */
        NodeTaskPage: {
            items: components["schemas"]["NodeTask"][];
            next: string | null;
            total: number;
        };
        /** NodeTask */
        NodeTask: {
            name: string;
            namespace: string;
            job: string;
            group: string;
            index: number;
            attempt: number;
            state: string;
            /** @default null */
            started_at: string | null;
        };
        /** TenantPage */
        TenantPage: {
            items: components["schemas"]["TenantView"][];
            next: string | null;
            total: number;
        };
        /** TenantView */
        TenantView: {
            name: string;
            namespaces: string[];
            queues: string[];
            quotas: {
                [key: string]: string;
            };
            used: {
                [key: string]: string;
            };
            created_at: string;
        };
        /**
         * AuditPage
         * @description `next` continues with older records; a page may have few, or none, if few match.
         */
        AuditPage: {
            items: components["schemas"]["AuditRecordView"][];
            next: string | null;
            head: components["schemas"]["AuditHeadView"];
        };
        /**
         * AuditRecordView
         * @description One record. `refused` counts requests that were refused, `checkpoint` says what retention dropped.
         */
        AuditRecordView: {
            number: number;
            at: string;
            operation: string;
            /** @default  */
            user: string;
            /** @default  */
            tenant: string;
            /** @default  */
            key: string;
            /** @default  */
            transport: string;
            /** @default  */
            source: string;
            /** @default [] */
            names: string[];
            /** @default ok */
            result: string;
            /** @default 0 */
            version: number;
            /** @default [] */
            refused: components["schemas"]["RefusedRequests"][];
            /** @default null */
            checkpoint: components["schemas"]["Checkpoint"] | null;
            /** @default  */
            hash: string;
        };
        /**
         * RefusedRequests
         * @description How often one source was refused the same within a minute. An empty source stands for further ones.
         */
        RefusedRequests: {
            source: string;
            status: number;
            count: number;
            /** @default  */
            operation: string;
            /** @default  */
            user: string;
            /** @default  */
            tenant: string;
            /** @default  */
            key: string;
        };
        /**
         * Checkpoint
         * @description Retention dropped the records up to this one, whose hash is needed to check the next.
         */
        Checkpoint: {
            through: number;
            hash: string;
        };
        /**
         * AuditHeadView
         * @description The newest record. Keep its hash elsewhere: `shunter audit verify --head HASH` finds what was changed before.
         */
        AuditHeadView: {
            number: number;
            hash: string;
        };
        /**
         * AuditLines
         * @description Lines of the log as they are stored, to check their hashes. `last` is the number of the last one.
         */
        AuditLines: {
            lines: string[];
            last: number;
            head: components["schemas"]["AuditHeadView"];
        };
        /**
         * RefusedReport
         * @description What a manager that does not lead has refused.
         */
        RefusedReport: {
            refused: components["schemas"]["RefusedRequests"][];
        };
        /** JoinTokenPage */
        JoinTokenPage: {
            items: components["schemas"]["JoinTokenView"][];
            next: string | null;
            total: number;
        };
        /** JoinTokenView */
        JoinTokenView: {
            id: string;
            node: string;
            state: string;
            user: string;
            created_at: string;
            expires_at: string;
            /** @default null */
            used_at: string | null;
        };
        /**
         * NewJoinTokenView
         * @description The only answer that contains the token itself.
         */
        NewJoinTokenView: {
            id: string;
            node: string;
            state: string;
            user: string;
            created_at: string;
            expires_at: string;
            /** @default null */
            used_at: string | null;
            token: string;
        };
        /** EnrolmentView */
        EnrolmentView: {
            node: string;
            certificate: string;
            authorities: string;
        };
        /**
         * Job
         * @description a job: groups of identical tasks
         */
        Job: {
            /** @enum {string} */
            apiVersion: "shunter.dev/v1";
            /** @enum {string} */
            kind: "Job";
            /** @description name, namespace and labels of the job */
            metadata?: {
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                name?: string;
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                namespace?: string;
                labels?: {
                    [key: string]: string;
                };
            };
            /** @description what to run, how many tasks, and where */
            spec: ({
                /**
                 * @description batch runs until all tasks have ended; service keeps count tasks running; system keeps one task on each node; sysbatch runs one task to completion on each node
                 * @enum {string}
                 */
                type?: "batch" | "service" | "system" | "sysbatch";
                /** @description program and arguments, as a list; replaces the entry point of an image */
                command?: [
                    string
                ];
                /** @description an image like busybox or example.org/team/app:1.2 */
                image?: string;
                /** @description arguments for the command or the entry point of the image */
                args?: string[];
                /** @description process, docker (default if image is set), or the name of a plugin runtime */
                runtime?: string;
                /** @description environment variables of the task; quote numbers */
                env?: {
                    [key: string]: string;
                };
                /** @description secrets that the task gets */
                secrets?: ({
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    name: string;
                    /** @description name of the variable */
                    env?: string;
                    /** @description name of the file */
                    file?: string;
                } & (unknown | unknown))[];
                /** @description working directory, an absolute path; default: a temporary directory that is deleted with the task */
                dir?: string;
                /** @description resources of one task; any other name is a countable resource that nodes declare, like gpu */
                resources?: {
                    /** @description a quantity like 500m or 256Mi */
                    cpu?: string | number;
                    /** @description a quantity like 500m or 256Mi */
                    memory?: string | number;
                    /** @description a quantity like 500m or 256Mi */
                    disk?: string | number;
                } & {
                    [key: string]: number;
                };
                /** @description time between the stop signal and SIGKILL */
                stop_grace?: string | number;
                /** @description maximum stored size of each output stream */
                log_max?: string | number;
                /** @description what each task reads from standard input, in base64; processes only */
                stdin?: string;
                /** @description a path, with %j %g %i %a for job, group, index and attempt, and %% for % */
                stdout?: string;
                /** @description a path, with %j %g %i %a for job, group, index and attempt, and %% for % */
                stderr?: string;
                /** @description user that runs the task: name or number, optionally with :GROUP */
                user?: string | number;
                /** @description directories and volumes that are mounted into the container */
                mounts?: {
                    /** @description an absolute path, or a volume */
                    source: string;
                    /** @description an absolute path */
                    target: string;
                    read_only?: boolean;
                }[];
                /** @description ports that the task listens on */
                ports?: {
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    name: string;
                    /** @description the port inside the container */
                    port?: number;
                    /** @description the port of the node; default: a free port */
                    host_port?: number;
                }[];
                /** @description health checks of the task */
                health?: ({
                    /** @description path of a GET request; the task is healthy if the status is 2xx or 3xx */
                    http?: string;
                    /** @description name or number of a port that must accept a connection */
                    tcp?: string | number;
                    /** @description a command that runs next to the task and must exit with 0 */
                    command?: [
                        string
                    ];
                    /** @description name of a health check that a plugin provides */
                    plugin?: string;
                    /** @description for http: name or number of the port; optional if the task has only one */
                    port?: string | number;
                    /** @description options of the plugin */
                    options?: {
                        [key: string]: string;
                    };
                    /** @description a duration like 90s, or seconds */
                    interval?: string | number;
                    /** @description a duration like 90s, or seconds */
                    timeout?: string | number;
                    /** @description consecutive failures after which the attempt ends and the restart policy applies */
                    failures?: number;
                    /** @description failures during this time after the start do not count */
                    start_grace?: string | number;
                } & (unknown | unknown | unknown | unknown))[];
                /** @description network of the container: bridge (default), host, none, or the name of a network */
                network?: string;
                /** @description Linux capabilities of the container; all others are dropped */
                cap_add?: string[];
                /** @description maximum number of processes in the container */
                pids_max?: number;
                /**
                 * @description when to pull the image
                 * @enum {string}
                 */
                pull?: "missing" | "always" | "never";
                /** @description make the root file system of the container read-only */
                read_only?: boolean;
                /** @description number of tasks; default: 1, or the number of array indexes or entries */
                count?: number;
                /** @description values of SHUNTER_TASK_INDEX: text like 1-100:2 or 1-3,7, or a list */
                array?: string | number[];
                /** @description one text per task, passed as SHUNTER_ENTRY */
                entries?: string[];
                /** @description when and how often a task that failed runs again */
                restart?: {
                    /** @enum {string} */
                    policy?: "never" | "on-failure" | "always" | "unless-stopped";
                    max?: number | "unlimited";
                    /** @description a duration like 90s, or seconds */
                    delay?: string | number;
                    factor?: number;
                    /** @description a duration like 90s, or seconds */
                    delay_max?: string | number;
                    jitter?: number;
                    on_exit?: {
                        codes: number[];
                        /** @enum {string} */
                        action: "fail" | "restart" | "succeed";
                    }[];
                    /** @description avoid the node of the last attempt if another node is feasible */
                    elsewhere?: boolean;
                };
                /** @description time limits: in the queue, of an attempt, and of the whole job; 0 means no limit */
                timeout?: (string | number) | {
                    /** @description a duration like 90s, or seconds */
                    queue?: string | number;
                    /** @description a duration like 90s, or seconds */
                    run?: string | number;
                    /** @description a duration like 90s, or seconds */
                    job?: string | number;
                };
                /** @description only nodes in one of these datacenters */
                datacenters?: string[];
                /** @description only nodes for which all of these CEL expressions are true, like node.labels.disk == 'ssd' */
                constraints?: string[];
                /**
                 * @description only nodes that keep tasks from the cluster's secrets at least this way
                 * @enum {string}
                 */
                isolation?: "user" | "namespace" | "container";
                /** @description maximum number of tasks of the group that run at once */
                parallel_max?: number;
                /** @description start all tasks together or none */
                gang?: boolean;
                /** @description run on nodes that no other job uses at the same time */
                exclusive?: boolean;
                /** @description host or a node label: no two tasks of the group run on the same host, or on nodes with the same label value */
                distinct?: string;
                /** @description spread tasks evenly across the values of these node labels */
                spread?: (string | {
                    /** @description letters, digits, '.', '_', '/' and '-', starting and ending with a letter or digit */
                    label: string;
                    weight?: number;
                })[];
                /** @description nodes, or jobs on the same node, to prefer, require or avoid */
                affinity?: {
                    /**
                     * @description whether match is evaluated on the node or on the jobs that run there
                     * @enum {string}
                     */
                    to: "node" | "job";
                    /** @description a CEL expression, like node.labels.disk == 'ssd' */
                    match: string;
                    /** @description require it instead of preferring it */
                    require?: boolean;
                    weight?: number;
                    /** @description prefer, or require, nodes where match is false */
                    anti?: boolean;
                }[];
                /** @description expected run time of a task, for backfill and start estimates */
                estimate?: string | number;
                /** @description rolling update to a new version: some tasks at a time, the next ones when these are healthy */
                update?: {
                    /** @description tasks that are replaced at a time */
                    parallel?: number;
                    /** @description old tasks that may stop before their replacements are healthy; 0 starts the replacement first */
                    unavailable_max?: number;
                    /** @description a duration like 90s, or seconds */
                    healthy_for?: string | number;
                    /** @description time that a task has to become healthy after it was ordered */
                    deadline?: string | number;
                    rollback?: boolean;
                };
                /** @description what happens to tasks on a node that the manager cannot reach */
                disconnect?: {
                    /** @description time after its node went down until a task runs on another node */
                    replace_after?: string | number;
                    /** @description time without contact with the manager after which the worker stops the task, at least 10s; 0 means never */
                    stop_after?: string | number;
                };
                /** @description never run two attempts of a task at once: replace a task only when its old attempt is known to have ended */
                at_most_once?: boolean;
                /** @description groups of identical tasks; fields that a group omits come from the job */
                groups?: {
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    name: string;
                    /** @description program and arguments, as a list; replaces the entry point of an image */
                    command?: [
                        string
                    ];
                    /** @description an image like busybox or example.org/team/app:1.2 */
                    image?: string;
                    /** @description arguments for the command or the entry point of the image */
                    args?: string[];
                    /** @description process, docker (default if image is set), or the name of a plugin runtime */
                    runtime?: string;
                    /** @description environment variables of the task; quote numbers */
                    env?: {
                        [key: string]: string;
                    };
                    /** @description secrets that the task gets */
                    secrets?: ({
                        /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                        name: string;
                        /** @description name of the variable */
                        env?: string;
                        /** @description name of the file */
                        file?: string;
                    } & (unknown | unknown))[];
                    /** @description working directory, an absolute path; default: a temporary directory that is deleted with the task */
                    dir?: string;
                    /** @description resources of one task; any other name is a countable resource that nodes declare, like gpu */
                    resources?: {
                        /** @description a quantity like 500m or 256Mi */
                        cpu?: string | number;
                        /** @description a quantity like 500m or 256Mi */
                        memory?: string | number;
                        /** @description a quantity like 500m or 256Mi */
                        disk?: string | number;
                    } & {
                        [key: string]: number;
                    };
                    /** @description time between the stop signal and SIGKILL */
                    stop_grace?: string | number;
                    /** @description maximum stored size of each output stream */
                    log_max?: string | number;
                    /** @description what each task reads from standard input, in base64; processes only */
                    stdin?: string;
                    /** @description a path, with %j %g %i %a for job, group, index and attempt, and %% for % */
                    stdout?: string;
                    /** @description a path, with %j %g %i %a for job, group, index and attempt, and %% for % */
                    stderr?: string;
                    /** @description user that runs the task: name or number, optionally with :GROUP */
                    user?: string | number;
                    /** @description directories and volumes that are mounted into the container */
                    mounts?: {
                        /** @description an absolute path, or a volume */
                        source: string;
                        /** @description an absolute path */
                        target: string;
                        read_only?: boolean;
                    }[];
                    /** @description ports that the task listens on */
                    ports?: {
                        /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                        name: string;
                        /** @description the port inside the container */
                        port?: number;
                        /** @description the port of the node; default: a free port */
                        host_port?: number;
                    }[];
                    /** @description health checks of the task */
                    health?: ({
                        /** @description path of a GET request; the task is healthy if the status is 2xx or 3xx */
                        http?: string;
                        /** @description name or number of a port that must accept a connection */
                        tcp?: string | number;
                        /** @description a command that runs next to the task and must exit with 0 */
                        command?: [
                            string
                        ];
                        /** @description name of a health check that a plugin provides */
                        plugin?: string;
                        /** @description for http: name or number of the port; optional if the task has only one */
                        port?: string | number;
                        /** @description options of the plugin */
                        options?: {
                            [key: string]: string;
                        };
                        /** @description a duration like 90s, or seconds */
                        interval?: string | number;
                        /** @description a duration like 90s, or seconds */
                        timeout?: string | number;
                        /** @description consecutive failures after which the attempt ends and the restart policy applies */
                        failures?: number;
                        /** @description failures during this time after the start do not count */
                        start_grace?: string | number;
                    } & (unknown | unknown | unknown | unknown))[];
                    /** @description network of the container: bridge (default), host, none, or the name of a network */
                    network?: string;
                    /** @description Linux capabilities of the container; all others are dropped */
                    cap_add?: string[];
                    /** @description maximum number of processes in the container */
                    pids_max?: number;
                    /**
                     * @description when to pull the image
                     * @enum {string}
                     */
                    pull?: "missing" | "always" | "never";
                    /** @description make the root file system of the container read-only */
                    read_only?: boolean;
                    /** @description number of tasks; default: 1, or the number of array indexes or entries */
                    count?: number;
                    /** @description values of SHUNTER_TASK_INDEX: text like 1-100:2 or 1-3,7, or a list */
                    array?: string | number[];
                    /** @description one text per task, passed as SHUNTER_ENTRY */
                    entries?: string[];
                    /** @description when and how often a task that failed runs again */
                    restart?: {
                        /** @enum {string} */
                        policy?: "never" | "on-failure" | "always" | "unless-stopped";
                        max?: number | "unlimited";
                        /** @description a duration like 90s, or seconds */
                        delay?: string | number;
                        factor?: number;
                        /** @description a duration like 90s, or seconds */
                        delay_max?: string | number;
                        jitter?: number;
                        on_exit?: {
                            codes: number[];
                            /** @enum {string} */
                            action: "fail" | "restart" | "succeed";
                        }[];
                        /** @description avoid the node of the last attempt if another node is feasible */
                        elsewhere?: boolean;
                    };
                    /** @description time limits: in the queue, of an attempt, and of the whole job; 0 means no limit */
                    timeout?: (string | number) | {
                        /** @description a duration like 90s, or seconds */
                        queue?: string | number;
                        /** @description a duration like 90s, or seconds */
                        run?: string | number;
                    };
                    /** @description only nodes in one of these datacenters */
                    datacenters?: string[];
                    /** @description only nodes for which all of these CEL expressions are true, like node.labels.disk == 'ssd' */
                    constraints?: string[];
                    /**
                     * @description only nodes that keep tasks from the cluster's secrets at least this way
                     * @enum {string}
                     */
                    isolation?: "user" | "namespace" | "container";
                    /** @description maximum number of tasks of the group that run at once */
                    parallel_max?: number;
                    /** @description start all tasks together or none */
                    gang?: boolean;
                    /** @description run on nodes that no other job uses at the same time */
                    exclusive?: boolean;
                    /** @description host or a node label: no two tasks of the group run on the same host, or on nodes with the same label value */
                    distinct?: string;
                    /** @description spread tasks evenly across the values of these node labels */
                    spread?: (string | {
                        /** @description letters, digits, '.', '_', '/' and '-', starting and ending with a letter or digit */
                        label: string;
                        weight?: number;
                    })[];
                    /** @description nodes, or jobs on the same node, to prefer, require or avoid */
                    affinity?: {
                        /**
                         * @description whether match is evaluated on the node or on the jobs that run there
                         * @enum {string}
                         */
                        to: "node" | "job";
                        /** @description a CEL expression, like node.labels.disk == 'ssd' */
                        match: string;
                        /** @description require it instead of preferring it */
                        require?: boolean;
                        weight?: number;
                        /** @description prefer, or require, nodes where match is false */
                        anti?: boolean;
                    }[];
                    /** @description expected run time of a task, for backfill and start estimates */
                    estimate?: string | number;
                    /** @description rolling update to a new version: some tasks at a time, the next ones when these are healthy */
                    update?: {
                        /** @description tasks that are replaced at a time */
                        parallel?: number;
                        /** @description old tasks that may stop before their replacements are healthy; 0 starts the replacement first */
                        unavailable_max?: number;
                        /** @description a duration like 90s, or seconds */
                        healthy_for?: string | number;
                        /** @description time that a task has to become healthy after it was ordered */
                        deadline?: string | number;
                        rollback?: boolean;
                    };
                    /** @description what happens to tasks on a node that the manager cannot reach */
                    disconnect?: {
                        /** @description time after its node went down until a task runs on another node */
                        replace_after?: string | number;
                        /** @description time without contact with the manager after which the worker stops the task, at least 10s; 0 means never */
                        stop_after?: string | number;
                    };
                    /** @description never run two attempts of a task at once: replace a task only when its old attempt is known to have ended */
                    at_most_once?: boolean;
                    /** @description groups of this job that must end first */
                    after?: (string | {
                        /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                        group: string;
                        /** @enum {string} */
                        when?: "succeeded" | "finished" | "failed";
                        /**
                         * @description what to do if `when` can no longer become true
                         * @enum {string}
                         */
                        otherwise?: "cancel" | "run";
                    })[];
                }[];
                /** @description jobs with a higher priority start first */
                priority?: number;
                /** @description the queue of its tasks */
                queue?: string;
                /** @description the number of failed tasks that fails the job and stops its other tasks */
                failures_max?: number;
                /** @description hold the job until it is released */
                hold?: boolean;
                /** @description jobs that must end first */
                after?: (string | {
                    /** @description a job's NAME, or NAME@RUN like render@3 */
                    job: string;
                    /** @enum {string} */
                    when?: "succeeded" | "finished" | "failed";
                    /**
                     * @description what to do if `when` can no longer become true
                     * @enum {string}
                     */
                    otherwise?: "cancel" | "run";
                })[];
                /** @description earliest start: a time, or a duration after the submit */
                start_at?: string | (string | number);
                /** @description deadline: a time, or a duration after the submit */
                deadline?: string | (string | number);
                /** @description start runs on a cron schedule */
                schedule?: string | {
                    /** @description minute hour day month weekday; with six fields, seconds come first */
                    cron: string;
                    /** @description a time zone like Europe/Berlin */
                    timezone?: string;
                    /**
                     * @description what to do when a run is due and the last one has not ended
                     * @enum {string}
                     */
                    overlap?: "skip" | "queue" | "replace";
                    /**
                     * @description which runs to make up for after the cluster was stopped
                     * @enum {string}
                     */
                    catch_up?: "none" | "last" | "all";
                };
                /** @description make the job a template: each dispatch starts a run with these parameters as SHUNTER_PARAM_<NAME> */
                parameters?: {
                    required?: string[];
                    /** @description optional parameters with their defaults */
                    optional?: {
                        [key: string]: string;
                    };
                    /**
                     * @description whether a dispatch has a payload file; SHUNTER_PAYLOAD has its path
                     * @enum {string}
                     */
                    payload?: "optional" | "required" | "forbidden";
                };
            } & (unknown & unknown & unknown & unknown)) | unknown | unknown | unknown;
        };
        BulkSubmit: {
            items: components["schemas"]["Job"][];
        };
        /** @description settings to change, at least one; they persist across restarts */
        ClusterPatch: {
            /** @description heartbeat interval of nodes; auto: from the number of nodes */
            heartbeat?: (string | number) | "auto";
            /** @description how much higher a priority must be to preempt tasks: 1 to 100; off: never; auto: the default */
            preemption?: number | ("auto" | "off");
            /** @description how long a single task waits before it gets a reservation (a gang gets one at once); off: never; auto: the default */
            reserve_after?: (string | number) | ("auto" | "off");
            /** @description how long a task waits before room is reserved for it without a known start time; off: never; auto: the default */
            hold_after?: (string | number) | ("auto" | "off");
            /** @description number of each licence in the cluster; tasks request them as resources: licence/<name> */
            licences?: {
                [key: string]: number | null;
            };
            /** @description policy that places tasks: one of GET /policies */
            policy?: string;
            /** @description policy that places tasks while an external scheduler is silent */
            fallback?: string;
            /** @description how long an external scheduler may be silent before the fallback policy decides; auto: the default */
            lease?: (string | number) | "auto";
            /**
             * @description whether the flight recorder records every decision and its input
             * @enum {unknown}
             */
            flight?: "on" | "off";
        };
        /** @description queue rules to change; omitted rules stay as they are */
        QueuePatch: {
            /** @description whether the queue is paused: none of its tasks start */
            paused?: boolean;
            /** @description whether its jobs start in the order of submission */
            strict?: boolean;
            /** @description maximum number of tasks on nodes; 0 means no limit */
            running_max?: number;
            /** @description maximum number of queued tasks; 0 means no limit */
            queued_max?: number;
        };
        /** @description what to change of the user; a new user needs roles */
        UserPut: {
            /** @description at least one role */
            roles?: ("viewer" | "submitter" | "operator" | "scheduler" | "admin")[];
            /** @description whether all keys of the user are refused */
            disabled?: boolean;
            /** @description the tenant of the user; default: that of the caller */
            tenant?: string;
        };
        /** @description an API key */
        KeyCreate: {
            /** @description who uses the key; default: the caller */
            user?: string;
            /** @description at least one role */
            roles: ("viewer" | "submitter" | "operator" | "scheduler" | "admin")[];
            /** @description what the key is for */
            note?: string;
            /** @description how long it is valid; default: for ever */
            expires_in?: string | number;
            /** @description the tenant that the key sees and acts on; default: that of the caller */
            tenant?: string;
            /** @description the only testbeds that the key uses, as NAME or NAMESPACE/NAME; default: all */
            testbeds?: string[];
            /** @description the only namespace that the key sees; default: all of the tenant or cluster */
            namespace?: string;
            /** @description the only queue that the key uses; default: all */
            queue?: string;
        };
        /** @description how to rotate a key */
        KeyRotate: {
            /** @description how long the old secret is still accepted; default: 1h */
            overlap?: string | number;
        };
        /** @description the value of a secret */
        SecretPut: {
            /** @description the value in base64; no answer ever contains it */
            value: string;
        };
        /** @description a tenant */
        TenantCreate: {
            /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
            name: string;
            /** @description all its namespaces; the first is the default of its keys */
            namespaces?: string[];
            /** @description all its queues */
            queues?: string[];
            /** @description the quotas of a tenant; null removes one */
            quotas?: {
                queued?: number | null;
                running?: number | null;
                cpu?: (string | number) | null;
                memory?: (string | number) | null;
                gpu?: number | null;
                requests_per_s?: number | null;
            };
        };
        /** @description what to change of a tenant */
        TenantPatch: {
            /** @description all its namespaces; the first is the default of its keys */
            namespaces?: string[];
            /** @description all its queues */
            queues?: string[];
            /** @description the quotas of a tenant; null removes one */
            quotas?: {
                queued?: number | null;
                running?: number | null;
                cpu?: (string | number) | null;
                memory?: (string | number) | null;
                gpu?: number | null;
                requests_per_s?: number | null;
            };
        };
        /** @description a join token */
        JoinTokenCreate: {
            /** @description the node as which one worker may join */
            node: string;
            /** @description how long it is valid; default: 1h */
            expires_in?: string | number;
        };
        /** @description how a worker enrols */
        Enrolment: {
            /** @description the id of the join token */
            id: string;
            /** @description the secret in the join token */
            secret: string;
            /** @description the certificate request of the worker: DER in base64 */
            request: string;
        };
        /** @description dead letters to select: by number or by job; default: all */
        DeadChoice: {
            /** @description numbers of the dead letters */
            numbers?: number[];
            /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
            job?: string;
        };
        NodePatch: {
            /** @description labels to set; null removes a label */
            labels?: {
                [key: string]: string | null;
            };
            /** @description like labels */
            attributes?: {
                [key: string]: string | null;
            };
        };
        /** @description after the deadline, batch tasks are stopped and queued again; default: wait for them */
        Drain: {
            /** @description a duration like 90s, or seconds */
            deadline?: string | number;
        };
        /**
         * BatchJob
         * @description a recurring distributed application
         */
        BatchJob: {
            /** @enum {string} */
            apiVersion: "batchjob.gcr.io/v1alpha1" | "esi.tu-berlin.de/v1alpha1";
            /** @enum {string} */
            kind: "BatchJob";
            /** @description name, namespace, labels and annotations of the BatchJob */
            metadata: {
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                name: string;
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                namespace?: string | null;
                labels?: {
                    [key: string]: string;
                } | null;
                annotations?: {
                    [key: string]: string;
                } | null;
                /** @description the version that the change is based on; a conflict if the current version differs */
                resourceVersion?: (string | number) | null;
                /** @description read-only, set by Shunter */
                uid?: unknown;
                /** @description read-only, set by Shunter */
                generation?: unknown;
                /** @description read-only, set by Shunter */
                creationTimestamp?: unknown;
                /** @description read-only, set by Shunter */
                deletionTimestamp?: unknown;
            };
            /** @description a recurring application: exactly one of sparkSpec, flinkSpec and commandSpec */
            spec: {
                /** @description an Apache Spark application */
                sparkSpec?: {
                    /** @enum {string} */
                    type: "Scala" | "Java" | "Python";
                    /**
                     * @description client has no effect: the driver always runs on a node of the cluster
                     * @enum {string}
                     */
                    mode?: "cluster" | "client";
                    /** @description main class of a Scala or Java application */
                    mainClass?: string;
                    /** @description path of its jar or Python file */
                    mainApplicationFile: string;
                    arguments?: string[];
                    /** @description Spark settings; Shunter reports those that it sets itself */
                    sparkConf?: {
                        [key: string]: string;
                    };
                    /** @description settings of the Hadoop libraries */
                    hadoopConf?: {
                        [key: string]: string;
                    };
                    /** @description dependencies of the application */
                    deps?: {
                        /** @description jars on the nodes */
                        jars?: string[];
                        /** @description files on the driver's node, copied to every executor */
                        files?: string[];
                        /** @description .py and .zip files on the driver's node, copied to every executor */
                        pyFiles?: string[];
                        /** @description archives on the driver's node, unpacked for every executor */
                        archives?: string[];
                        /** @description Maven coordinates, downloaded by the driver's node */
                        packages?: string[];
                        excludePackages?: string[];
                        /** @description additional repositories for packages */
                        repositories?: string[];
                    };
                    /** @description the driver, which runs outside the slots */
                    driver?: {
                        /** @description cores that it requests; coreRequest is more precise */
                        cores?: number;
                        /** @description CPU that it requests, like 500m */
                        coreRequest?: string | number;
                        /** @description heap size; it requests the heap plus memoryOverhead */
                        memory?: string | (string | number);
                        /** @description memory that it requests in addition to the heap */
                        memoryOverhead?: string | (string | number);
                        /** @description options of the driver's JVM */
                        javaOptions?: string;
                        /** @description environment variables of the driver, as {name, value} */
                        env?: {
                            /** @description a name like WORDS_MAX */
                            name: string;
                            value?: string;
                            /** @description Shunter has no config maps, secrets or pods to take a value from */
                            valueFrom?: unknown;
                        }[];
                        /** @description environment variables of the driver */
                        envVars?: {
                            [key: string]: string;
                        };
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        template?: unknown;
                        /** @description not used: a driver or executor can use only what it requests */
                        coreLimit?: unknown;
                        /** @description not used: a driver or executor can use only what it requests */
                        memoryLimit?: unknown;
                        /** @description not used: slots have only CPU and memory */
                        gpu?: unknown;
                        /** @description not used: Shunter uses no images: the Spark that is installed on the nodes runs the application */
                        image?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        configMaps?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        secrets?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        envFrom?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        envSecretKeyRefs?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        labels?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        annotations?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        volumeMounts?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        affinity?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        tolerations?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        podSecurityContext?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        securityContext?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        schedulerName?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        sidecars?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        initContainers?: unknown;
                        /** @description not used: processes always use the network of their node */
                        hostNetwork?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        nodeSelector?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        dnsConfig?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        terminationGracePeriodSeconds?: unknown;
                        /** @description not used: the application runs as the user of the worker */
                        serviceAccount?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        hostAliases?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        shareProcessNamespace?: unknown;
                        /** @description not used: only jobs have priorities */
                        priorityClassName?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        lifecycle?: unknown;
                        /** @description not used: the node chooses free ports */
                        ports?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        podName?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        kubernetesMaster?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        serviceAnnotations?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        serviceLabels?: unknown;
                    };
                    /** @description the executors, one in each slot */
                    executor?: {
                        /** @description tasks that an executor runs at once; default: the whole cores of its slot */
                        cores?: number;
                        /** @description options of the executors' JVMs */
                        javaOptions?: string;
                        /** @description environment variables of the executors, as {name, value} */
                        env?: {
                            /** @description a name like WORDS_MAX */
                            name: string;
                            value?: string;
                            /** @description Shunter has no config maps, secrets or pods to take a value from */
                            valueFrom?: unknown;
                        }[];
                        /** @description environment variables of the executors */
                        envVars?: {
                            [key: string]: string;
                        };
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        template?: unknown;
                        /** @description not used: a driver or executor can use only what it requests */
                        coreLimit?: unknown;
                        /** @description not used: a driver or executor can use only what it requests */
                        memoryLimit?: unknown;
                        /** @description not used: slots have only CPU and memory */
                        gpu?: unknown;
                        /** @description not used: Shunter uses no images: the Spark that is installed on the nodes runs the application */
                        image?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        configMaps?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        secrets?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        envFrom?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        envSecretKeyRefs?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        labels?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        annotations?: unknown;
                        /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                        volumeMounts?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        affinity?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        tolerations?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        podSecurityContext?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        securityContext?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        schedulerName?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        sidecars?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        initContainers?: unknown;
                        /** @description not used: processes always use the network of their node */
                        hostNetwork?: unknown;
                        /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                        nodeSelector?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        dnsConfig?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        terminationGracePeriodSeconds?: unknown;
                        /** @description not used: the application runs as the user of the worker */
                        serviceAccount?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        hostAliases?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        shareProcessNamespace?: unknown;
                        /** @description not used: only jobs have priorities */
                        priorityClassName?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        lifecycle?: unknown;
                        /** @description not used: the node chooses free ports */
                        ports?: unknown;
                        /** @description not used: the slot sets the size of an executor, and the Scheduling their number */
                        coreRequest?: unknown;
                        /** @description not used: the slot sets the size of an executor, and the Scheduling their number */
                        memory?: unknown;
                        /** @description not used: the slot sets the size of an executor, and the Scheduling their number */
                        memoryOverhead?: unknown;
                        /** @description not used: the slot sets the size of an executor, and the Scheduling their number */
                        instances?: unknown;
                        /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                        deleteOnTermination?: unknown;
                    };
                    /** @description only Never has an effect: a run of a BatchJob is one attempt */
                    restartPolicy?: {
                        /** @enum {string} */
                        type?: "Never" | "OnFailure" | "Always";
                        onFailureRetries?: number;
                        onFailureRetryInterval?: number;
                        onSubmissionFailureRetries?: number;
                        onSubmissionFailureRetryInterval?: number;
                    };
                    /** @description not used: Shunter uses no images: the Spark that is installed on the nodes runs the application */
                    image?: unknown;
                    /** @description not used: Shunter uses no images: the Spark that is installed on the nodes runs the application */
                    imagePullPolicy?: unknown;
                    /** @description not used: Shunter uses no images: the Spark that is installed on the nodes runs the application */
                    imagePullSecrets?: unknown;
                    /** @description not used: the Spark that is installed on the nodes runs the application */
                    sparkVersion?: unknown;
                    /** @description not used: the Python of the installed Spark runs the application */
                    pythonVersion?: unknown;
                    /** @description not used: the application runs as the user of the worker */
                    proxyUser?: unknown;
                    /** @description not used: a Scheduling starts the application */
                    suspend?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    sparkConfigMap?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    hadoopConfigMap?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    volumes?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    nodeSelector?: unknown;
                    /** @description not used: a run of a BatchJob is one attempt; run it again with another Scheduling */
                    failureRetries?: unknown;
                    /** @description not used: a run of a BatchJob is one attempt; run it again with another Scheduling */
                    retryInterval?: unknown;
                    /** @description not used: Shunter divides the memory of a slot by its size */
                    memoryOverheadFactor?: unknown;
                    /** @description not used: the cluster provides the metrics of a run */
                    monitoring?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    batchScheduler?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    batchSchedulerOptions?: unknown;
                    /** @description not used: the cluster limits the history */
                    timeToLiveSeconds?: unknown;
                    /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                    sparkUIOptions?: unknown;
                    /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                    driverIngressOptions?: unknown;
                    /** @description not used: the slot sets the size of an executor, and the Scheduling their number */
                    dynamicAllocation?: unknown;
                } | null;
                /** @description an Apache Flink application */
                flinkSpec?: {
                    /** @description path of its jar on the nodes */
                    jarFile?: string;
                    /** @description class with the main method; default: that of the jar's manifest */
                    className?: string;
                    args?: string[];
                    /** @description default parallelism of operators; default: one per slot */
                    parallelism?: number;
                    /** @description additional jars on the nodes */
                    classPath?: string[];
                    /** @description Python program instead of a jar */
                    pyFile?: string;
                    /** @description Python module instead of a jar; pyFiles must contain it */
                    pyModule?: string;
                    /** @description files and directories that Python programs import from */
                    pyFiles?: string[];
                    /** @description path of the savepoint to resume from */
                    fromSavepoint?: string;
                    /** @description whether to ignore savepoint state that no operator uses */
                    allowNonRestoredState?: boolean;
                    /** @description directory of savepoints that users request */
                    savepointsDir?: string;
                    /** @description Flink settings; Shunter reports those that it sets itself */
                    flinkProperties?: {
                        [key: string]: string;
                    };
                    /** @description environment variables of JobManager and TaskManagers */
                    envVars?: {
                        [key: string]: string;
                    } | {
                        /** @description a name like WORDS_MAX */
                        name: string;
                        value?: string;
                        /** @description Shunter has no config maps, secrets or pods to take a value from */
                        valueFrom?: unknown;
                    }[];
                    /** @description not used: Shunter uses no images: the Flink that is installed on the nodes runs the application */
                    image?: unknown;
                    /** @description not used: Shunter uses no images: the Flink that is installed on the nodes runs the application */
                    flinkVersion?: unknown;
                    /** @description not used: set the resources of the JobManager in spec.driver: {cpu, memory} */
                    jobManager?: unknown;
                    /** @description not used: set the resources of the JobManager in spec.driver: {cpu, memory} */
                    resources?: unknown;
                    /** @description not used: the slot sets the size of a TaskManager, and the Scheduling their number */
                    taskManager?: unknown;
                    /** @description not used: each application has its own cluster, whose JobManager runs until the application ends */
                    mode?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    envFrom?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    volumes?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    volumeMounts?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    hadoopConfig?: unknown;
                    /** @description not used: Shunter has no config maps, secrets or volumes: programs see the files of their node */
                    gcpConfig?: unknown;
                    /** @description not used: the task logs have them: see shunter logs */
                    logConfig?: unknown;
                    /** @description not used: the task logs have them: see shunter logs */
                    noLoggingToStdout?: unknown;
                    /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                    initContainers?: unknown;
                    /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                    podAnnotations?: unknown;
                    /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                    podLabels?: unknown;
                    /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                    securityContext?: unknown;
                    /** @description not used: Shunter has no pods: the application runs as processes on the nodes */
                    hostAliases?: unknown;
                    /** @description not used: the application runs as the user of the worker */
                    serviceAccountName?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    nodeSelector?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    tolerations?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    affinity?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    batchSchedulerName?: unknown;
                    /** @description not used: slots determine where executors run, and the active policy where the driver runs */
                    batchScheduler?: unknown;
                    /** @description not used: a run of a BatchJob is one attempt; run it again with another Scheduling */
                    restartPolicy?: unknown;
                    /** @description not used: all processes of an application end with it */
                    cleanupPolicy?: unknown;
                    /** @description not used: a run ends when its Scheduling is deleted */
                    cancelRequested?: unknown;
                    /** @description not used: Shunter takes no savepoints of a batch job by itself */
                    takeSavepointOnUpdate?: unknown;
                    /** @description not used: Shunter takes no savepoints of a batch job by itself */
                    autoSavepointSeconds?: unknown;
                    /** @description not used: Shunter takes no savepoints of a batch job by itself */
                    savepointGeneration?: unknown;
                    /** @description not used: Shunter takes no savepoints of a batch job by itself */
                    maxStateAgeToRestoreSeconds?: unknown;
                    /** @description not used: changing a BatchJob does not change its current run */
                    recreateOnUpdate?: unknown;
                    /** @description not used: the cluster limits the history */
                    revisionHistoryLimit?: unknown;
                } | null;
                /** @description any program: one executor per slot */
                commandSpec?: {
                    command: [
                        string
                    ];
                    /** @description arguments after those of the command */
                    args?: string[];
                    /** @description environment variables of the executors */
                    env?: {
                        [key: string]: string;
                    } | {
                        /** @description a name like WORDS_MAX */
                        name: string;
                        value?: string;
                        /** @description Shunter has no config maps, secrets or pods to take a value from */
                        valueFrom?: unknown;
                    }[];
                    /** @description working directory of the executors; default: a temporary directory that is deleted with the executor */
                    workingDir?: string;
                } | null;
                /** @description data that external schedulers store with the job: one key per scheduler, and lists of texts by name */
                externalScheduler?: {
                    [key: string]: {
                        [key: string]: string | number;
                    }[];
                } | null;
                /** @description resources that the driver or JobManager requests */
                driver?: {
                    /** @description like 500m, which is the default */
                    cpu?: string | number;
                    /** @description like 1Gi, which is the default */
                    memory?: string | number;
                } | null;
                /** @description what happens to a run that loses a node: fail, or restart as a whole in free slots */
                onNodeLoss?: ("fail" | "restart") | null;
                /** @description read-only, set by the Scheduling that claims the job */
                activeScheduling?: unknown;
                /** @description read-only, set by the Scheduling that claims the job */
                creationRequest?: unknown;
            } & ({
                sparkSpec: unknown;
            } | {
                flinkSpec: unknown;
            } | {
                commandSpec: unknown;
            });
            /** @description read-only, set by Shunter */
            status?: unknown;
        };
        /**
         * Testbed
         * @description slots that are reserved on labelled nodes
         */
        Testbed: {
            /** @enum {string} */
            apiVersion: "batchjob.gcr.io/v1alpha1" | "esi.tu-berlin.de/v1alpha1" | "shunter.dev/v1";
            /** @enum {string} */
            kind: "Testbed";
            /** @description name, namespace, labels and annotations of the Testbed */
            metadata: {
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                name: string;
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                namespace?: string | null;
                labels?: {
                    [key: string]: string;
                } | null;
                annotations?: {
                    [key: string]: string;
                } | null;
                /** @description the version that the change is based on; a conflict if the current version differs */
                resourceVersion?: (string | number) | null;
                /** @description read-only, set by Shunter */
                uid?: unknown;
                /** @description read-only, set by Shunter */
                generation?: unknown;
                /** @description read-only, set by Shunter */
                creationTimestamp?: unknown;
                /** @description read-only, set by Shunter */
                deletionTimestamp?: unknown;
            };
            /** @description slots that are reserved on labelled nodes */
            spec: {
                /** @description number of slots on each node */
                slotsPerNode: number;
                /** @description key of a node label; nodes with the label belong to the Testbed, ordered by its value, a whole number */
                nodeLabel: string;
                /** @description the size of each slot */
                resourcesPerSlot: {
                    /** @description a quantity like 500m or 256Mi */
                    cpu?: string | number;
                    /** @description a quantity like 500m or 256Mi */
                    memory?: string | number;
                    /** @description a quantity like 500m or 256Mi */
                    disk?: string | number;
                } & {
                    [key: string]: number;
                };
                /** @description who may use it at the same time: one Scheduling (exclusive), or several with disjoint slots (disjoint) */
                sharing?: ("exclusive" | "disjoint") | null;
            };
            /** @description read-only, set by Shunter */
            status?: unknown;
        };
        /**
         * Scheduling
         * @description a decision of an external scheduler
         */
        Scheduling: {
            /** @enum {string} */
            apiVersion: "batchjob.gcr.io/v1alpha1" | "esi.tu-berlin.de/v1alpha1";
            /** @enum {string} */
            kind: "Scheduling";
            /** @description name, namespace, labels and annotations of the Scheduling */
            metadata: {
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                name: string;
                /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                namespace?: string | null;
                labels?: {
                    [key: string]: string;
                } | null;
                annotations?: {
                    [key: string]: string;
                } | null;
                /** @description the version that the change is based on; a conflict if the current version differs */
                resourceVersion?: (string | number) | null;
                /** @description read-only, set by Shunter */
                uid?: unknown;
                /** @description read-only, set by Shunter */
                generation?: unknown;
                /** @description read-only, set by Shunter */
                creationTimestamp?: unknown;
                /** @description read-only, set by Shunter */
                deletionTimestamp?: unknown;
            };
            /** @description BatchJobs and the Testbed that they run in: exactly one of queueBased and slotBased */
            spec: {
                /** @description jobs in order; each mention of a job adds one executor */
                queueBased?: {
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    name: string;
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    namespace?: string | null;
                }[] | null;
                /** @description jobs and the slots that they use */
                slotBased?: {
                    /**
                     * @description strict starts jobs in order; relaxed lets a later job pass one that must wait
                     * @enum {string}
                     */
                    mode?: "strict" | "relaxed";
                    /** @description each job at most once */
                    jobs: {
                        /** @description reference to an object; default namespace: that of the manifest */
                        name: {
                            /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                            name: string;
                            /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                            namespace?: string | null;
                        };
                        /** @description slot numbers, one per executor */
                        slotIds: number[];
                    }[];
                } | null;
                /** @description reference to an object; default namespace: that of the manifest */
                testbed?: {
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    name: string;
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    namespace?: string | null;
                } | null;
                /** @description old name of testbed */
                slots?: {
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    name: string;
                    /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
                    namespace?: string | null;
                } | null;
                /** @description time that executors have to start before the Scheduling fails */
                confirmationTimeout?: (string | number) | null;
            } & (({
                queueBased: unknown;
            } | {
                slotBased: unknown;
            }) & ({
                testbed: unknown;
            } | {
                slots: unknown;
            }));
            /** @description read-only, set by Shunter */
            status?: unknown;
        };
        Plan: components["schemas"]["BatchJob"] | components["schemas"]["Testbed"] | components["schemas"]["Scheduling"] | components["schemas"]["Job"] | {
            items: (components["schemas"]["BatchJob"] | components["schemas"]["Testbed"] | components["schemas"]["Scheduling"] | components["schemas"]["Job"])[];
        };
        Manifests: components["schemas"]["BatchJob"] | components["schemas"]["Testbed"] | components["schemas"]["Scheduling"] | components["schemas"]["Job"] | {
            items: (components["schemas"]["BatchJob"] | components["schemas"]["Testbed"] | components["schemas"]["Scheduling"] | components["schemas"]["Job"])[];
        };
        /** @description fields to change; null removes a field */
        MergePatch: Record<string, never>;
        /** @description data that external schedulers store with the job: one key per scheduler, and lists of texts by name */
        External: {
            [key: string]: {
                [key: string]: string | number;
            }[];
        };
        /** @description a BatchJob; only externalScheduler is written: named keys are replaced, others stay */
        ExternalJobBody: {
            /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
            name?: string | null;
            /** @description data that external schedulers store with the job: one key per scheduler, and lists of texts by name */
            externalScheduler?: {
                [key: string]: {
                    [key: string]: string | number;
                }[];
            } | null;
            /** @description set by Shunter; ignored in requests */
            state?: unknown;
            /** @description set by Shunter; ignored in requests */
            scheduledEvents?: unknown;
            /** @description set by Shunter; ignored in requests */
            problems?: unknown;
        };
        /** @description BatchJobs and the Testbed that they run in: exactly one of queue and slots */
        ExternalSchedulingBody: {
            /** @description lower-case letters, digits, '.', '_' and '-', starting and ending with a letter or digit */
            name: string;
            /** @description a name, or NAMESPACE/NAME for an object in another namespace */
            testBed: string;
            queue?: string[] | null;
            /** @description jobs and the slots that they use */
            slots?: {
                /** @enum {string} */
                mode?: "STRICT" | "RELAXED" | "strict" | "relaxed";
                jobs: {
                    /** @description a name, or NAMESPACE/NAME for an object in another namespace */
                    name: string;
                    slots: number[];
                }[];
            } | null;
            /** @description set by Shunter; ignored in requests */
            state?: unknown;
            /** @description set by Shunter; ignored in requests */
            jobStatus?: unknown;
            /** @description set by Shunter; ignored in requests */
            waitsFor?: unknown;
            /** @description set by Shunter; ignored in requests */
            problems?: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getOpenApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getCluster: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterInfo"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchCluster: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClusterPatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterInfo"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    stopCluster: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Down"];
            };
        };
        responses: {
            /** @description it is stopping */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoppingView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description only items in this state */
                state?: ("pending" | "running" | "stopping" | "succeeded" | "failed" | "cancelled")[];
                /** @description only items with this label, as KEY=VALUE */
                label?: string[];
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
                /** @description only jobs with this text in their name */
                q?: string;
                /** @description only jobs of this queue */
                queue?: string;
                /** @description only jobs of this user */
                user?: string;
                /** @description only jobs of this type */
                type?: "batch" | "service" | "sysbatch" | "system";
                /** @description only jobs that were submitted since then */
                since?: string;
                /** @description the order; others than newest need unfinished states */
                sort?: "newest" | "oldest" | "name" | "priority";
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    submitJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description follow the job as NDJSON */
                follow?: "end" | "progress" | "logs";
            };
            header?: {
                /** @description a repeated key returns the result of the first request */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Job"];
                "application/yaml": components["schemas"]["Job"];
            };
        };
        responses: {
            /** @description the same key, or an unfinished job with the same spec, already exists */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                    "application/x-ndjson": components["schemas"]["FollowLine"];
                };
            };
            /** @description the job is committed */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                    "application/x-ndjson": components["schemas"]["FollowLine"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    submitJobs: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: {
                /** @description a repeated key returns the result of the first request */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkSubmit"];
            };
        };
        responses: {
            /** @description all are committed */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmittedJobs"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    updateJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description replace only instances on this node */
                node?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Job"];
                "application/yaml": components["schemas"]["Job"];
            };
        };
        responses: {
            /** @description it is committed; the rollout follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    stopJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description kill immediately, without a grace period */
                now?: boolean;
                /** @description signal to send instead of TERM */
                signal?: "HUP" | "INT" | "QUIT" | "ABRT" | "KILL" | "USR1" | "USR2" | "TERM";
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listRuns: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    explainJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    explainTask: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
                /** @description index of a task, as in SHUNTER_TASK_INDEX */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    planJobs: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Plan"];
                "application/yaml": components["schemas"]["Plan"];
            };
        };
        responses: {
            /** @description which tasks would start, and which would stay pending and why */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    applySuggestion: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SuggestionChoice"];
            };
        };
        responses: {
            /** @description the job; of a batch job, the run that replaces it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listPolicies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyPage"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    usePolicy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PolicyChoice"];
            };
        };
        responses: {
            /** @description the policy is active from the next round on */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    followJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description what to report besides the end */
                mode?: "end" | "progress" | "logs";
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description lines: the job, then progress or log, then its end */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["FollowLine"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description only items in this state */
                state?: ("waiting" | "queued" | "assigned" | "running" | "stopping" | "succeeded" | "failed" | "cancelled")[];
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
                /** @description include replaced tasks of a service, before the others */
                all?: boolean;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getTask: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
                /** @description for a replaced task of a service: the number after its ~ */
                piece?: number;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
                /** @description index of a task, as in SHUNTER_TASK_INDEX */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskView"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    stopTask: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
                /** @description kill immediately, without a grace period */
                now?: boolean;
                /** @description signal to send instead of TERM */
                signal?: "HUP" | "INT" | "QUIT" | "ABRT" | "KILL" | "USR1" | "USR2" | "TERM";
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
                /** @description index of a task, as in SHUNTER_TASK_INDEX */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listAttempts: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
                /** @description for a replaced task of a service: the number after its ~ */
                piece?: number;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
                /** @description index of a task, as in SHUNTER_TASK_INDEX */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptPage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    readLog: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
                /** @description for a replaced task of a service: the number after its ~ */
                piece?: number;
                /** @description output stream */
                stream?: "stdout" | "stderr";
                /** @description offset of the first byte */
                offset?: number;
                /** @description maximum number of bytes */
                limit?: number;
                /** @description attempt number; default: the latest */
                attempt?: number;
                /** @description keep streaming until the task has ended */
                follow?: boolean;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
                /** @description index of a task, as in SHUNTER_TASK_INDEX */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description X-Log-Truncated tells whether it was cut */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    holdJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    releaseJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    retryJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description only the tasks that did not succeed */
                failed?: boolean;
            };
            header?: {
                /** @description a repeated key returns the result of the first request */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the new run */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listTemplates: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplatePage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getTemplate: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description name of a template */
                template: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateView"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteTemplate: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of a template */
                template: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchTemplate: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of a template */
                template: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TemplatePatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    runTemplate: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: {
                /** @description a repeated key returns the result of the first request */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description name of a template */
                template: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DispatchBody"];
            };
        };
        responses: {
            /** @description the new run */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listQueues: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuePage"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueuePatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    purgeQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a queue */
                queue: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Purged"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listDead: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description only of this job */
                job?: string;
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadPage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    replayDead: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeadChoice"];
            };
        };
        responses: {
            /** @description done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replayed"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    purgeDead: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeadChoice"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Purged"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listNodes: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodePage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodePatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getNodeStats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeStatsView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description only events of the job with this name */
                job?: string;
                /** @description only events after this one: VERSION-N, or VERSION for a whole version */
                after?: string;
                /** @description maximum number of items */
                limit?: number;
                /** @description only events of this type */
                type?: string[];
                /** @description the order of a page */
                order?: "oldest" | "newest";
                /** @description stream server-sent events, from now on or after `after` */
                follow?: boolean;
            };
            header?: {
                /** @description same as `after`; browsers send it when they reconnect */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                    "text/event-stream": unknown;
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    scaleJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Scale"];
            };
        };
        responses: {
            /** @description it is committed; the rollout follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    rollBackJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it is committed; the rollout follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    restartJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Restart"];
            };
        };
        responses: {
            /** @description it is committed; the rollout follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    moveTask: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
                /** @description index of a task, as in SHUNTER_TASK_INDEX */
                index: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Move"];
            };
        };
        responses: {
            /** @description it is committed; the rollout follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    drainNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Drain"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    undrainNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    cordonNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Cordon"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    uncordonNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    releaseNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    forgetNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    applyDocuments: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: {
                /** @description for Jobs: a repeated key returns the result of the first request */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Manifests"];
                "application/yaml": components["schemas"]["Manifests"];
            };
        };
        responses: {
            /** @description all are committed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppliedPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listAllBatchJobs: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listBatchJobs: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createBatchJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchJob"];
                "application/yaml": components["schemas"]["BatchJob"];
            };
        };
        responses: {
            /** @description it is committed */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getBatchJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    replaceBatchJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchJob"];
                "application/yaml": components["schemas"]["BatchJob"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description it was created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteBatchJob: {
        parameters: {
            query?: {
                /** @description only if this is the current version */
                resourceVersion?: string;
            };
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the deleted object */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchBatchJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["MergePatch"];
                "application/json": components["schemas"]["MergePatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    explainBatchJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listAllTestbeds: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listTestbeds: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createTestbed: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Testbed"];
                "application/yaml": components["schemas"]["Testbed"];
            };
        };
        responses: {
            /** @description it is committed */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getTestbed: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    replaceTestbed: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Testbed"];
                "application/yaml": components["schemas"]["Testbed"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description it was created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteTestbed: {
        parameters: {
            query?: {
                /** @description only if this is the current version */
                resourceVersion?: string;
            };
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the deleted object */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchTestbed: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["MergePatch"];
                "application/json": components["schemas"]["MergePatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    explainTestbed: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listAllSchedulings: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listSchedulings: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createScheduling: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Scheduling"];
                "application/yaml": components["schemas"]["Scheduling"];
            };
        };
        responses: {
            /** @description it is committed */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getScheduling: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    replaceScheduling: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Scheduling"];
                "application/yaml": components["schemas"]["Scheduling"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description it was created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteScheduling: {
        parameters: {
            query?: {
                /** @description only if this is the current version */
                resourceVersion?: string;
            };
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the deleted object */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchScheduling: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["MergePatch"];
                "application/json": components["schemas"]["MergePatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    explainScheduling: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listAllObjects: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listObjects: {
        parameters: {
            query?: {
                /** @description stream changes as NDJSON instead of a list */
                watch?: boolean;
                /** @description only objects with this name */
                name?: string;
                /** @description for a watch: changes after this version; default: from now on */
                resourceVersion?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectList"];
                    "application/x-ndjson": components["schemas"]["WatchLine"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    resetBatchJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    writeExternal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["External"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ObjectView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listPastSchedulings: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description only those with this name */
                name?: string;
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PastPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getPastScheduling: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description uid of a Scheduling */
                uid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PastSchedulingView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listExternalTestbeds: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalTestbed"][];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getExternalTestbed: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalTestbed"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listExternalJobs: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["ExternalBatchJob"];
                    };
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    writeExternalJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExternalJobBody"];
            };
        };
        responses: {
            /** @description it is committed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalBatchJob"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getExternalJob: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalBatchJob"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    writeExternalJobByName: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExternalJobBody"];
            };
        };
        responses: {
            /** @description it is committed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalBatchJob"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getExternalJobMetrics: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description run number, from 1; default: the last */
                run?: number;
                /** @description length of one step; default: about 120 values */
                step?: string;
            };
            header?: never;
            path: {
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricsView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listExternalSchedulings: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalScheduling"][];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    postExternalScheduling: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExternalSchedulingBody"];
            };
        };
        responses: {
            /** @description it is committed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalScheduling"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getExternalScheduling: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalScheduling"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteExternalScheduling: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description it as it was */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExternalScheduling"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listExternalPastSchedulings: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description only those with this name */
                name?: string;
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PastPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getSockJsInfo: {
        parameters: {
            query?: {
                /** @description any text; clients send the time */
                t?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listFlight: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlightPage"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    exportFlight: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description a recording */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getFlightTimeline: {
        parameters: {
            query?: {
                /** @description maximum number of decisions */
                limit?: number;
                /** @description include decisions that changed nothing */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlightTimeline"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listDecisions: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
                /** @description include decisions that changed nothing */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getDecision: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description id of a recorded decision */
                decision: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionDetail"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    replayDecision: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description id of a recorded decision */
                decision: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayChoice"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionReplay"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    scrapeMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text; version=1.0.0; charset=utf-8": unknown;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getBatchJobMetrics: {
        parameters: {
            query?: {
                /** @description run number, from 1; default: the last */
                run?: number;
                /** @description length of one step; default: about 120 values */
                step?: string;
            };
            header?: never;
            path: {
                /** @description API group */
                group: "batchjob.gcr.io" | "esi.tu-berlin.de" | "shunter.dev";
                /** @description version of the API group; Testbeds are also in shunter.dev/v1 */
                version: "v1alpha1" | "v1";
                /** @description a namespace */
                namespace: string;
                /** @description name of an object */
                object: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricsView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getNodeMetrics: {
        parameters: {
            query?: {
                /** @description start of the window */
                start?: string;
                /** @description end of the window; default: now, or the end of the task */
                stop?: string;
                /** @description length of one step; default: about 120 values */
                step?: string;
            };
            header?: never;
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricsView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getTaskMetrics: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
                /** @description for a replaced task: the number after its ~ */
                piece?: number;
                /** @description start of the window */
                start?: string;
                /** @description end of the window; default: now, or the end of the task */
                stop?: string;
                /** @description length of one step; default: about 120 values */
                step?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
                /** @description index of a task, as in SHUNTER_TASK_INDEX */
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricsView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    readJobLogs: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description keep streaming until the job has ended */
                follow?: boolean;
                /** @description only the last lines of each stream of each task */
                tail?: number;
                /** @description only lines with this text */
                grep?: string;
                /** @description without tasks that ended earlier */
                since?: string;
                /** @description only tasks of this group */
                group?: string[];
                /** @description only tasks with these indexes: 3, 1-9:2 or 1-3,7 */
                index?: string;
                /** @description only items in this state */
                state?: ("waiting" | "queued" | "assigned" | "running" | "stopping" | "succeeded" | "failed" | "cancelled")[];
                /** @description only this output stream */
                stream?: ("stdout" | "stderr")[];
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description lines: pieces of output, then what was left out and what is missing */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["JobLogLine"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listManagers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ManagerPage"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getThisManager: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ManagerView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    debugManager: {
        parameters: {
            query?: {
                /** @description seconds to profile; default: none */
                profile?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DebugView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    stepDown: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description another manager will lead */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SteppingDown"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    putUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a user */
                user: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserPut"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyCreate"];
            };
        };
        responses: {
            /** @description done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    rotateKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description id of an API key */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeyRotate"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description id of an API key */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SessionOpen"];
            };
        };
        responses: {
            /** @description Set-Cookie has the session */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createSessionCode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description valid for a minute, once */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionCodeView"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getSignInOptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInOptionsView"];
                };
            };
        };
    };
    beginOidcSignIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description to the issuer, or to the web UI with an error */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    finishOidcSignIn: {
        parameters: {
            query?: {
                /** @description what the manager redeems for tokens */
                code?: string;
                /** @description that the sign-in began with */
                state?: string;
                /** @description why the issuer refused */
                error?: string;
                /** @description the same for people */
                error_description?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description to the web UI; Set-Cookie has the session */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listSecrets: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    setSecret: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of a secret */
                secret: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecretPut"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteSecret: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description name of a secret */
                secret: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    rotateSecretsKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyRotation"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    countJobs: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description what to count by */
                group_by?: "state" | "queue" | "user" | "type" | "namespace";
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobCounts"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    search: {
        parameters: {
            query?: {
                /** @description a part of the name; without it, everything matches */
                q?: string;
                /** @description maximum number of items */
                limit?: number;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchPage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getTaskMap: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description group of the task, if the job has several */
                group?: string;
                /** @description first task, as a position in its group */
                first?: number;
                /** @description last task */
                last?: number;
                /** @description maximum number of cells */
                cells?: number;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskMap"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getManifest: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description a version that is still known; default: the current one */
                version?: number;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobManifest"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getTimeline: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
                /** @description maximum number of steps of `running` */
                steps?: number;
                /** @description maximum number of single attempts */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getJobUsage: {
        parameters: {
            query?: {
                /** @description the namespace */
                namespace?: string;
            };
            header?: never;
            path: {
                /** @description NAME, NAME@RUN or id:NUMBER */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobUsageView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description what to add up by */
                by?: "user" | "queue" | "namespace" | "tenant";
                /** @description jobs that ended at this time or later; default: 7 days ago */
                since?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageSums"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getAnalytics: {
        parameters: {
            query?: {
                /** @description the namespace, or * for all */
                namespace?: string | "*";
                /** @description start of the window; default: 24 hours before its end */
                start?: string;
                /** @description end of the window; default: now */
                stop?: string;
                /** @description number of steps */
                steps?: number;
                /** @description of the answer; csv has a line for each step */
                format?: "json" | "csv";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Analytics"];
                    "text/csv": unknown;
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getNodeMap: {
        parameters: {
            query?: {
                /** @description `datacenter` (the default), or the key of a label */
                group_by?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeMap"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listNodeTasks: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: {
                /** @description ETag of the answer that the client has */
                "If-None-Match"?: string;
            };
            path: {
                /** @description name of a node */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeTaskPage"];
                };
            };
            /** @description unchanged since the answer with this ETag */
            304: {
                headers: {
                    /** @description of the state that is shown; absent if time alone changes the answer */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listTenants: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createTenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantCreate"];
            };
        };
        responses: {
            /** @description done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    getTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    deleteTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    patchTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description name of a tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantPatch"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
                /** @description only what this user did */
                user?: string;
                /** @description only what users and keys of this tenant did */
                tenant?: string;
                /** @description only what was done with this API key, by its id */
                key?: string;
                /** @description only this operation, such as submitJob */
                operation?: string;
                /** @description only what came from this address */
                source?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    exportAudit: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description only records after this number */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditLines"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    reportRefused: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefusedReport"];
            };
        };
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    listJoinTokens: {
        parameters: {
            query?: {
                /** @description maximum number of items */
                limit?: number;
                /** @description cursor: `next` of the previous page */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JoinTokenPage"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    createJoinToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JoinTokenCreate"];
            };
        };
        responses: {
            /** @description done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewJoinTokenView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    revokeJoinToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description id of a join token */
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
    enrolWorker: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Enrolment"];
            };
        };
        responses: {
            /** @description done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrolmentView"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDocument"];
                };
            };
        };
    };
}
