# The server with its bundled models. For CPUs:  docker build -t dragoman .
# For NVIDIA GPUs:  docker build --build-arg TORCH=cuda -t dragoman:cuda .

# A Debian with Python 3.11 or later.
ARG BASE=python:3.14-slim

# Apart, so that a change of anything else in pyproject.toml installs nothing anew.
FROM ${BASE} AS requirements
COPY pyproject.toml ./
RUN python3 -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; print(*project['optional-dependencies']['torch'])" \
    > /torch.txt

FROM ${BASE} AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
        $(python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv) \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/pip \
    && python3 -m venv --without-pip /opt/venv

# Every package has a version and hashes (make lock), but for PyTorch and what it brings: its version is
# fixed, and its wheels differ by index. A CPU serves without it.
# none; cpu: PyTorch's CPU build, which imports models saved by PyTorch; cuda: the default index's build.
ARG TORCH=none
ARG TORCH_CPU_INDEX=https://download.pytorch.org/whl/cpu
ENV PIP_CACHE_DIR=/var/cache/pip
COPY --from=requirements /torch.txt /torch.txt
COPY deploy/requirements.txt /requirements.txt
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=cache,target=/var/cache/pip \
    /opt/pip/bin/pip --python /opt/venv/bin/python install \
        --require-hashes --no-deps --requirement /requirements.txt \
    && case "${TORCH}" in \
        none) ;; \
        cpu|cuda) \
            if [ "${TORCH}" = cuda ]; then TORCH_CPU_INDEX=; fi \
            && /opt/pip/bin/pip --python /opt/venv/bin/python install \
                ${TORCH_CPU_INDEX:+--extra-index-url "${TORCH_CPU_INDEX}"} --requirement /torch.txt \
            && cd /opt/venv/lib/python3*/site-packages/torch \
            && rm -rf include test bin/protoc* bin/test_* bin/*Test ;; \
        *) echo "TORCH must be none, cpu or cuda, got ${TORCH}" && exit 1 ;; \
    esac \
    && find /opt/venv -type d -name tests -prune -exec rm -r {} + \
    && cd /opt/venv/lib/python3*/site-packages \
    && strip --strip-unneeded hf_xet/*.so yaml/*.so regex/*.so httptools/*/*.so sentencex/*.so

COPY deploy/build-requirements.txt /build-requirements.txt
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    --mount=type=cache,target=/var/cache/pip \
    /opt/pip/bin/pip install --require-hashes --no-deps --requirement /build-requirements.txt

WORKDIR /src
COPY LICENSE README.md pyproject.toml setup.py ./
COPY dragoman dragoman
COPY model model
COPY service service
# Their package is empty here: they are a layer of their own, which a change of the code leaves as it is.
RUN mkdir checkpoints
# Without isolation, because pip gives an isolated build the newest setuptools.
RUN /opt/pip/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . \
    && /opt/pip/bin/pip --python /opt/venv/bin/python install --no-index --no-deps --target /opt/dragoman /wheels/*.whl \
    && test -f /opt/dragoman/model/backends/native/_library.*.so

FROM ${BASE}
RUN groupadd --gid 10001 dragoman \
    && useradd --uid 10001 --gid 10001 --home-dir /cache --no-create-home --shell /usr/sbin/nologin dragoman \
    && install --directory --owner 10001 --group 10001 /cache \
    && rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/site-packages/pip*
COPY --from=build /opt/venv /opt/venv
COPY checkpoints /opt/dragoman/dragoman_checkpoints
COPY --from=build /opt/dragoman /opt/dragoman

LABEL org.opencontainers.image.title="Dragoman" \
    org.opencontainers.image.description="A translation server that batches at every decode step" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="0.1.0"

ENV PATH=/opt/dragoman/bin:/opt/venv/bin:$PATH \
    PYTHONPATH=/opt/dragoman \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/cache \
    DRAGOMAN_HOST=0.0.0.0 \
    DRAGOMAN_PORT=8000
# Models that are imported on first use go to /cache: mount a volume there. Nothing else is written.
WORKDIR /srv/dragoman
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client, os, re; \
        ports = re.findall('--port[^0-9]([0-9]+)', open('/proc/1/cmdline').read()) or [os.environ['DRAGOMAN_PORT']]; \
        c = http.client.HTTPConnection('127.0.0.1', int(ports[-1]), timeout=4); \
        c.request('GET', '/health/ready'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["dragoman"]
CMD ["serve"]
