# Debian's Prometheus in the place of the official image, where no registry is reached.
ARG BASE
FROM ${BASE}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends prometheus \
    && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner 65534 --group 65534 /prometheus
USER 65534:65534
WORKDIR /prometheus
ENTRYPOINT ["prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
