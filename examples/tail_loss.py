# %% [markdown]
# # How late is a loss at the end of a flow, and what would help?
#
# A notebook in plain Python: open it in Jupyter (through jupytext), VS Code or PyCharm, which know the
# `# %%` cells, or run it whole: `python examples/tail_loss.py`. It takes about a second.

# %%
import polars as pl
import rexmit

pl.Config.set_tbl_cols(12).set_tbl_rows(12).set_fmt_str_lengths(60).set_tbl_hide_dataframe_shape()

# %% [markdown]
# ## A study from a table
# The scenario is what the file of a study holds: two FreeBSD 6.0 hosts, a path of 1 Mbit/s with 20 ms each
# way, a flow of 20 packets. What varies is the packet that is lost (0: none), and two constants of the
# server's TCP: the duplicate ACKs that trigger a fast retransmit, and whether a changed window hides a
# duplicate.

# %%
THRESHOLD = "hosts.server.stack.recovery.dupack_threshold"
HIDES = "hosts.server.stack.recovery.changed_window_is_no_duplicate"

study = rexmit.Study.from_dict(
    {
        "title": "Losses at the tail, and two constants",
        "scenario": {
            "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
            "path": {"rate": "1 Mbit/s", "delay": "20 ms", "queue": "99 packets"},
            "transfers": [{"from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes"}],
        },
        "vary": {THRESHOLD: [3, 2, 1], HIDES: [True, False], "path.down.drop": {"position": "0..20"}},
        "design": {"replications": 3},
    }
)
study

# %% [markdown]
# ## Run it and take the table
# One row per run: the levels of the factors, then what came of it. `time_ns` goes from the client's connect()
# to the end of the stream.

# %%
runs = study.run(progress=False).table().rename({THRESHOLD: "threshold", HIDES: "window hides"})
print(runs.select("path.down.drop", "threshold", "time_ns", "timeouts_server", "fast_retransmits").head(4))

# %% [markdown]
# ## Which positions wait for the timer?

# %%
waits = (
    runs.filter(pl.col("path.down.drop").is_between(2, 19) & (pl.col("timeouts_server") > 0))
    .group_by("threshold", "window hides")
    .agg(pl.col("path.down.drop").unique().sort().cast(pl.String).str.join(" ").alias("positions that wait"))
    .sort("threshold", "window hides")
)
print(waits)

# %% [markdown]
# With the system's own constants four positions wait: 16 only because the window that the reader opens hides
# a duplicate ACK. A threshold of two frees 17 as well. Even a threshold of one does not free 18: the ACK of
# packet 17 was being delayed, so it leaves with the first packet out of order, acknowledges new data, and is
# no duplicate.

# %% [markdown]
# ## One run in detail
# The same engine, with the state of both ends after every event and the emulator's verdict on every packet.

# %%
run = rexmit.run_one(study, path__down__drop=18, options={"state": True, "verdicts": True})
state = run["state"].filter(pl.col("host") == "server")
print(state.select("time_ns", "phase", "cwnd", "in_flight", "rto_ns").tail(4))
print(run["verdicts"].filter("dropped").select("time_ns", "direction", "position", "ip_bytes", "verdict"))
