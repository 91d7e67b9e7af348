"""Files as load tests and recorders write them: one seeded writer for each reader of counters.

Each writes one run of two minutes, in which `factor` multiplies the metric `planted`: a service becomes slower, or a
processor busier. Levels differ by 2% from run to run, samples by more.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

START = 1_795_228_000
SECONDS = 120
Generator = np.random.Generator
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterFile:
    """One writer. `planted` is the changed metric, as the report names it; `followers` may change with it.

    `is_one_value`: the file has no samples. Six such values carry less information than six runs of samples.
    """

    reader: str
    name: str
    write: Callable[[Generator, float], str]
    planted: str
    followers: tuple[str, ...] = ()
    is_one_value: bool = False


def level(rng: Generator, value: float) -> float:
    return float(value * np.exp(rng.normal(0, 0.02)))


def series(rng: Generator, value: float, *, rows: int = SECONDS, noise: float = 0.1) -> Floats:
    """Draw a series that is autocorrelated over a few rows, as counters of a machine are."""
    shocks = rng.normal(size=rows + 20)
    own = np.convolve(shocks, 0.6 ** np.arange(20), "valid")[:rows] * 0.8
    values: Floats = level(rng, value) * np.exp(noise * own)
    return values


def requests(rng: Generator, factor: float) -> list[tuple[float, str, float]]:
    """Draw (start in seconds, label, elapsed ms): two addresses, five requests a second; `/order` becomes slower."""
    starts = np.sort(rng.uniform(0, SECONDS, 5 * SECONDS))
    usual = {"/cart": level(rng, 30), "/order": level(rng, 90) * factor}
    labels = rng.choice(list(usual), len(starts))
    return [
        (float(start), str(label), float(usual[label] * np.exp(rng.normal(0, 0.15))))
        for start, label in zip(starts, labels, strict=True)
    ]


def moment(second: float) -> datetime:
    return datetime.fromtimestamp(START + second, UTC)


def k6_csv(rng: Generator, factor: float) -> str:
    header = (
        "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,"
        "service,status,subproto,tls_version,url,extra_tags,metadata"
    )
    lines = [header]
    for start, label, elapsed in requests(rng, factor):
        tags = f",,,true,,GET,{label},HTTP/1.1,steady,,200,,,{label},,"
        lines += [f"{name},{int(START + start)},{value:.6f},{tags}" for name, value in k6_metrics(elapsed)]
    lines += [f"vus,{START + second},2.000000{',' * 16}" for second in range(SECONDS)]
    return "\n".join(lines) + "\n"


def k6_lines(rng: Generator, factor: float) -> str:
    def line(name: str, start: float, value: float, tags: dict[str, str]) -> str:
        at = (datetime.fromtimestamp(START, UTC) + timedelta(seconds=start)).isoformat()
        point = {"metric": name, "type": "Point", "data": {"time": at, "value": value, "tags": tags}}
        return json.dumps(point, separators=(",", ":"))

    declared = [
        f'{{"type":"Metric","data":{{"name":"{name}","type":"{kind}","contains":"default"}},"metric":"{name}"}}'
        for name, kind in (("http_reqs", "counter"), ("http_req_duration", "trend"), ("http_req_failed", "rate"))
    ]
    points = [
        line(name, start, value, {"name": label, "method": "GET", "status": "200", "scenario": "steady"})
        for start, label, elapsed in requests(rng, factor)
        for name, value in k6_metrics(elapsed)
    ]
    return "\n".join([*declared, *points]) + "\n"


def k6_metrics(elapsed: float) -> list[tuple[str, float]]:
    return [("http_reqs", 1.0), ("http_req_duration", elapsed), ("http_req_failed", 0.0)]


def k6_summary(rng: Generator, factor: float) -> str:
    times = np.array([elapsed for _, label, elapsed in requests(rng, factor) if label == "/order"])
    values = {"avg": times.mean(), "min": times.min(), "med": np.median(times), "max": times.max()}
    values |= {f"p({share})": float(np.percentile(times, share)) for share in (90, 95, 99)}
    trend = {"type": "trend", "contains": "time", "values": {name: float(value) for name, value in values.items()}}
    return json.dumps(
        {
            "root_group": {
                "name": "",
                "path": "",
                "id": "d41d8cd98f00b204e9800998ecf8427e",
                "groups": [],
                "checks": [],
            },
            "options": {"summaryTimeUnit": "", "noColor": False, "summaryTrendStats": ["avg", "p(95)", "p(99)"]},
            "state": {"isStdOutTTY": False, "isStdErrTTY": False, "testRunDurationMs": 1000.0 * SECONDS},
            "metrics": {"http_req_duration": trend},
        }
    )


def jmeter_jtl(rng: Generator, factor: float) -> str:
    lines = [
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,allThreads"
    ]
    lines += [
        f"{int(1000 * (START + start))},{round(elapsed)},GET {label},200,OK,Users 1-1,text,true,,2"
        for start, label, elapsed in requests(rng, factor)
    ]
    return "\n".join(lines) + "\n"


LOCUST_SHARES = ("50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%", "100%")


def locust_stats(rng: Generator, factor: float) -> str:
    calls = requests(rng, factor)
    header = (
        "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,"
        f"Max Response Time,Average Content Size,Requests/s,Failures/s,{','.join(LOCUST_SHARES)}"
    )
    lines = [header]
    for name in ("/cart", "/order"):
        times = np.array([elapsed for _, label, elapsed in calls if label == name])
        shares = ",".join(f"{np.percentile(times, float(share[:-1])):.0f}" for share in LOCUST_SHARES)
        rate = len(times) / SECONDS
        lines.append(
            f"GET,{name},{len(times)},0,{np.median(times):.0f},{times.mean()},{times.min()},{times.max()},2.0,{rate},0.0,"
            f"{shares}"
        )
    return "\n".join(lines) + "\n"


def locust_history(rng: Generator, factor: float) -> str:
    header = (
        f"Timestamp,User Count,Type,Name,Requests/s,Failures/s,{','.join(LOCUST_SHARES)},Total Request Count,"
        "Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,"
        "Total Max Response Time,Total Average Content Size"
    )
    lines = [header]
    times, rates = series(rng, 40 * factor), series(rng, 5, noise=0.05)
    for second, (time, rate) in enumerate(zip(times, rates, strict=True)):
        shares = ",".join(f"{time * (1 + place / 10):.0f}" for place in range(len(LOCUST_SHARES)))
        total = f"{5 * second},0,{time:.0f},{time},{time / 2},{2 * time},2.0"
        lines.append(f"{START + second},4,,Aggregated,{rate:.6f},0.000000,{shares},{total}")
    return "\n".join(lines) + "\n"


def perf_readings(rng: Generator, factor: float) -> list[tuple[float, str, str, float]]:
    """Instant, event, unit, value."""
    columns = {
        ("task-clock", "msec"): series(rng, 900 * factor),
        ("context-switches", ""): series(rng, 400),
        ("page-faults", ""): series(rng, 70),
    }
    return [
        (second + 1.0001, event, unit, float(values[second]))
        for second in range(SECONDS)
        for (event, unit), values in columns.items()
    ]


def perf_stat_json(rng: Generator, factor: float) -> str:
    entries = [
        {
            "interval": time,
            "counter-value": f"{value:.6f}",
            "unit": unit,
            "event": event,
            "event-runtime": 1_000_000,
            "pcnt-running": 100.0,
        }
        for time, event, unit, value in perf_readings(rng, factor)
    ]
    return "\n".join(map(json.dumps, entries)) + "\n"


def perf_stat_csv(rng: Generator, factor: float) -> str:
    lines = [
        f"{time:15.9f},{value:.2f},{unit},{event},1000000,100.00,,"
        for time, event, unit, value in perf_readings(rng, factor)
    ]
    return "\n".join(lines) + "\n"


def machine(rng: Generator, factor: float) -> dict[str, Floats]:
    return {"user": series(rng, 30 * factor), "system": series(rng, 8), "tps": series(rng, 100, noise=0.2)}


def sadf_json(rng: Generator, factor: float) -> str:
    values = machine(rng, factor)
    statistics = [
        {
            "timestamp": {"date": f"{moment(second):%F}", "time": f"{moment(second):%T}", "utc": 1, "interval": 1},
            "cpu-load": [{"cpu": "all", **{name: round(values[name][second], 2) for name in ("user", "system")}}],
            "io": {"tps": round(values["tps"][second], 2)},
        }
        for second in range(SECONDS)
    ]
    host = {
        "nodename": "bench",
        "sysname": "Linux",
        "release": "6.1.0",
        "machine": "x86_64",
        "number-of-cpus": 4,
        "file-date": f"{moment(0):%F}",
        "file-utc-time": f"{moment(0):%T}",
        "timezone": "UTC",
        "statistics": statistics,
    }
    return json.dumps({"sysstat": {"hosts": [host]}})


def sadf_csv(rng: Generator, factor: float) -> str:
    values = machine(rng, factor)
    blocks: Sequence[tuple[str, Sequence[str], str]] = (
        ("CPU;%usr;%sys", ("user", "system"), "-1;"),
        ("tps", ("tps",), ""),
    )
    lines = []
    for header, names, device in blocks:
        lines.append(f"# hostname;interval;timestamp;{header}")
        for second in range(SECONDS):
            cells = ";".join(f"{values[name][second]:.2f}" for name in names)
            lines.append(f"bench;1;{moment(second):%F %T} UTC;{device}{cells}")
    return "\n".join(lines) + "\n"


def sadf_lines(rng: Generator, factor: float) -> str:
    values = machine(rng, factor)
    cells = [("all", "%user", "user"), ("all", "%system", "system"), ("-", "tps", "tps")]
    return "".join(
        f"bench\t1\t{moment(second):%F %T} UTC\t{device}\t{name}\t{values[key][second]:.2f}\n"
        for second in range(SECONDS)
        for device, name, key in cells
    )


def perfmon_csv(rng: Generator, factor: float) -> str:
    values = machine(rng, factor)
    paths = {"user": r"Processor(_Total)\% User Time", "system": r"Processor(_Total)\% Privileged Time"}
    paths |= {"tps": r"PhysicalDisk(_Total)\Disk Transfers/sec"}
    header = ['"(PDH-CSV 4.0) (UTC)(0)"', *(f'"\\\\BENCH\\{path}"' for path in paths.values())]
    rows = [
        [f'"{moment(second):%m/%d/%Y %H:%M:%S}.000"', *(f'"{values[name][second]:.6f}"' for name in paths)]
        for second in range(SECONDS)
    ]
    return "".join(",".join(row) + "\r\n" for row in [header, *rows])


def prometheus_query(rng: Generator, factor: float) -> str:
    values = machine(rng, factor)
    result = [
        {
            "metric": {"__name__": f"node_{name}", "instance": "bench:9100"},
            "values": [[START + 15 * row, f"{value:.4f}"] for row, value in enumerate(column)],
        }
        for name, column in values.items()
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def prometheus_text(rng: Generator, factor: float) -> str:
    """A scrape: one instant."""
    values = {
        "process_resident_memory_bytes": level(rng, 3e7 * factor),
        "process_open_fds": float(round(level(rng, 400))),
        "go_goroutines": float(round(level(rng, 900))),
    }
    return "".join(f"# TYPE {name} gauge\n{name} {value}\n" for name, value in values.items())


def counter_csv(rng: Generator, factor: float) -> str:
    load = series(rng, 120, noise=0.07)
    columns = {
        "cpu [%]": 0.3 * factor * load * np.exp(rng.normal(0, 0.02, SECONDS)),
        "heap [MB]": series(rng, 400),
        "requests/s [load]": load,
    }
    lines = [",".join(["time", *columns])]
    lines += [
        ",".join([moment(second).isoformat(), *(f"{column[second]:.3f}" for column in columns.values())])
        for second in range(SECONDS)
    ]
    return "\n".join(lines) + "\n"


def _file(name: str, write: Callable[[Generator, float], str], planted: str, *followers: str) -> CounterFile:
    return CounterFile(
        reader=write.__name__,
        name=name,
        write=write,
        planted=planted,
        followers=followers,
        is_one_value=write in {k6_summary, locust_stats, prometheus_text},
    )


# What all requests took together follows what one kind of them took.
FILES = (
    _file("summary.json", k6_summary, "time", "p50_time", "p95_time", "p99_time"),
    _file("points.csv", k6_csv, "response_time"),
    _file("points.json", k6_lines, "response_time"),
    _file("samples.jtl", jmeter_jtl, "response_time"),
    _file(
        "load_stats.csv", locust_stats, "response_time", "p50_response_time", "p95_response_time", "p99_response_time"
    ),
    _file("load_stats_history.csv", locust_history, "p95_response_time", "p50_response_time", "p99_response_time"),
    _file("intervals.json", perf_stat_json, "task-clock"),
    _file("intervals.csv", perf_stat_csv, "task-clock"),
    _file("sar.json", sadf_json, "user"),
    _file("sar.csv", sadf_csv, "%usr"),
    _file("sar.txt", sadf_lines, "%user"),
    _file("relog.csv", perfmon_csv, "User Time"),
    _file("range.json", prometheus_query, "node_user"),
    _file("scrape.txt", prometheus_text, "process_resident_memory_bytes"),
    _file("counters.csv", counter_csv, "cpu"),
)
